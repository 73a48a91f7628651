package routing_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestPick routes calls that bypass the channel's interceptors.
func TestPick(t *testing.T) {
	w := newWorld(t)
	table := w.channel.Compile(w.config("", `virtual_hosts { name: "h" domains: "svc"
		routes { match { path: "/p.S/A" } route { cluster: "a" } }
		routes { match { path: "/p.S/N" } non_forwarding_action {} } }`), w.settings())
	w.channel.Set(table, nil)
	call, release, err := table.Pick(t.Context(), "/p.S/A")
	if err != nil || call.Cluster != "a" {
		t.Fatalf("the call goes to %+v, %v; want the cluster a", call, err)
	}
	release()
	for method, want := range map[string]string{
		"/p.S/C": `no route of virtual host "h" takes /p.S/C`,
		"/p.S/N": "its action, non_forwarding_action, is for servers (A36)",
	} {
		call, _, err := table.Pick(t.Context(), method)
		if call != nil || status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), want) {
			t.Errorf("%s goes to %+v, %v; want an error with %q", method, call, err, want)
		}
	}
}

// TestExplain expects the error of a call that exceeds its deadline to name the resources that the
// channel waits for, unless there is a newer error.
func TestExplain(t *testing.T) {
	w := newWorld(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	expect := func(step, want string) {
		t.Helper()
		_, err := w.call(over, "/p.S/A", grpc.WaitForReady(true))
		if status.Code(err) != codes.Canceled || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %q at its end", step, err, want)
		}
	}
	const waits = "while waiting for the configuration"
	expect("nothing explains it", waits)
	w.channel.Explain(func() error { return errors.New("no answer for the Listener") })
	expect("a function explains it", waits+": no answer for the Listener")
	w.channel.Set(nil, errors.New("newer trouble"))
	expect("there is a newer error", waits+": newer trouble")
	w.channel.Set(nil, nil)
	w.channel.Explain(nil)
	expect("nothing explains it any more", waits)
	if w.channel.Waiting(func() {}) {
		t.Error("calls that are over wait")
	}
}

// A call that waited for a table counts as waiting until it ends. Other calls do not.
func TestWaitingUntilTheEnd(t *testing.T) {
	w := newWorld(t)
	expect := func(step string, want bool) {
		t.Helper()
		if got := w.channel.Waiting(func() {}); got != want {
			t.Errorf("%s: waiting is %t, want %t", step, got, want)
		}
	}
	routes := w.config("", `virtual_hosts { name: "h" domains: "svc" routes { match { prefix: "" } route { cluster: "a" } } }`)
	end := func(s grpc.ClientStream) {
		t.Helper()
		if _, err := exchange(s); err != nil {
			t.Error(err)
		}
	}
	opened := make(chan grpc.ClientStream)
	go func() {
		s, err := w.open(t.Context(), "/p.S/A")
		if err != nil {
			t.Error(err)
		}
		opened <- s
	}()
	ended := make(chan bool, 1)
	for !w.channel.Waiting(func() { ended <- true }) {
		runtime.Gosched()
	}
	w.channel.Set(w.channel.Compile(routes, w.settings()), nil)
	first := <-opened
	expect("a stream that waited is open", true)
	second, err := w.open(t.Context(), "/p.S/A")
	if err != nil {
		t.Fatal(err)
	}
	end(first)
	expect("it has ended", false)
	if len(ended) != 1 {
		t.Error("the function for the end was not called")
	}
	end(second)
	expect("a stream that did not wait has ended", false)
}
