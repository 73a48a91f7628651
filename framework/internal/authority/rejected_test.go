package authority

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// reject applies a response with a rejected endpoint resource.
func (r *rig) reject(name string, message []byte) {
	r.t.Helper()
	res := Result{Name: r.entry(name).Name, Version: "2", Err: errors.New("bad"), Message: message}
	r.handle(func() { r.m.Received(&Response{Type: endpoints, Results: []Result{res}, Partial: true}, r.now) })
}

// The machine keeps a copy of a rejected message until the resource is valid, missing or not wanted.
func TestRejectedMessages(t *testing.T) {
	for _, end := range []string{"response endpoint a=1", "response endpoint a=removed", "cancel endpoint a"} {
		r := newRig(t)
		r.run("watch endpoint a")
		message := []byte("bad")
		r.reject("a", message)
		message[0] = 'm'
		if got := r.entry("a").RejectedMessage; string(got) != "bad" || r.m.messages != 3 {
			t.Fatalf("the machine keeps %q, %d bytes; want a copy of the message", got, r.m.messages)
		}
		r.run(end)
		if r.m.messages != 0 {
			t.Errorf("after %q, the machine keeps %d bytes; want 0", end, r.m.messages)
		}
		for e := range r.m.Entries() {
			if e.RejectedMessage != nil {
				t.Errorf("after %q, the machine keeps %q", end, e.RejectedMessage)
			}
		}
	}
}

// The machine keeps no message over the limit of one resource, and none over the limit of all.
func TestRejectedMessagesAreLimited(t *testing.T) {
	r := newRig(t)
	kept := 0
	for i := range 2 * maxMessages / maxMessage {
		name := fmt.Sprint("a", i)
		r.run("watch endpoint " + name)
		r.reject(name, bytes.Repeat([]byte("x"), maxMessage))
		r.reject(name, bytes.Repeat([]byte("y"), maxMessage)) // replaces the first one
		if r.entry(name).RejectedMessage != nil {
			kept++
		}
	}
	if kept*maxMessage != maxMessages || r.m.messages != maxMessages {
		t.Errorf("the machine keeps %d messages, %d bytes; want %d bytes", kept, r.m.messages, maxMessages)
	}
	r.reject("a0", bytes.Repeat([]byte("x"), maxMessage+1))
	if got := r.entry("a0").RejectedMessage; got != nil {
		t.Errorf("the machine keeps a message of %d bytes; want at most %d", len(got), maxMessage)
	}
}
