package httpxds

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"
)

// letters returns n bytes that tell their positions.
func letters(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte('a' + i%23)
	}
	return out
}

// A slowSource reads random parts of its text. It fails if two goroutines read it.
type slowSource struct {
	t      *testing.T
	mu     sync.Mutex
	text   []byte
	closed int
}

func (s *slowSource) Read(p []byte) (int, error) {
	if !s.mu.TryLock() {
		s.t.Error("two goroutines read the source")
		return 0, io.ErrUnexpectedEOF
	}
	defer s.mu.Unlock()
	if len(s.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:rand.N(len(p))+1], s.text)
	s.text = s.text[n:]
	return n, nil
}

func (s *slowSource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

// newStreamed returns the body of a request with its first attempt.
func newStreamed(source io.ReadCloser, limit int) *streamedBody {
	b := &streamedBody{source: &checkedBody{source: source, length: -1}, limit: limit}
	b.changed.L = &b.mu
	b.first.body, b.current = b, &b.first
	return b
}

// TestAttemptsReadTheWholeBody expects each attempt to read the body from its start, whatever part of it the attempts before
// have read, and although they still read.
func TestAttemptsReadTheWholeBody(t *testing.T) {
	for round := range 300 {
		const limit = 20000
		text := letters(rand.N(limit + 1))
		source := &slowSource{t: t, text: text}
		b := newStreamed(source, limit)
		a := &b.first
		var before sync.WaitGroup
		for range rand.N(4) {
			_, _ = io.CopyN(io.Discard, a, rand.N(int64(len(text)+1)))
			old := a
			before.Go(func() {
				_, _ = io.ReadAll(iotest.OneByteReader(old)) // it ends when the next attempt begins
				_ = old.Close()
			})
			if a = b.next(); a == nil {
				t.Fatalf("round %d: a body of %d bytes cannot be sent again", round, len(text))
			}
		}
		got, err := io.ReadAll(a)
		if !bytes.Equal(got, text) || err != nil {
			t.Fatalf("round %d: the last attempt reads %d bytes, %v; want the %d of the source", round, len(got), err, len(text))
		}
		before.Wait()
		if source.closed > 0 {
			t.Fatal("an attempt has closed the source although another may begin")
		}
		b.commit()
		_ = a.Close()
		if source.closed == 0 || b.kept != nil {
			t.Fatalf("the source is open, or %d bytes are kept, after the last attempt", len(b.kept))
		}
	}
}

// TestLimitOfKeptBytes expects a body to be sent again exactly if it has at most the bytes of the limit.
func TestLimitOfKeptBytes(t *testing.T) {
	const limit = 10000
	for size, again := range map[int]bool{0: true, 1: true, limit: true, limit + 1: false, 5 * limit: false} {
		b := newStreamed(&slowSource{t: t, text: letters(size)}, limit)
		got, err := io.ReadAll(&b.first)
		if !bytes.Equal(got, letters(size)) || err != nil {
			t.Errorf("%d of %d bytes, %v", len(got), size, err)
		}
		if cap(b.kept) > limit+1 || (b.next() != nil) != again || !again && b.kept != nil {
			t.Errorf("a body of %d bytes can be sent again: %t, and keeps %d bytes; want %t and at most the limit", size, !again, cap(b.kept), again)
		}
	}
	b := newStreamed(&slowSource{t: t, text: letters(10)}, 0)
	if b.next() == nil {
		t.Error("a body that nothing has read cannot be sent again")
	}
	_, _ = b.current.Read(make([]byte, 1))
	if b.next() != nil {
		t.Error("a body without kept bytes can be sent again")
	}
}

// TestFailedSource expects no further attempt after an error of the source, and the bytes before it.
func TestFailedSource(t *testing.T) {
	broken := errors.New("broken")
	b := newStreamed(io.NopCloser(io.MultiReader(&slowSource{t: t, text: letters(100)}, iotest.ErrReader(broken))), 1000)
	if got, err := io.ReadAll(&b.first); len(got) != 100 || !errors.Is(err, broken) {
		t.Errorf("%d bytes, %v; want 100 and the error of the source", len(got), err)
	}
	if b.source.failure() == nil || b.next() != nil {
		t.Error("a body whose source has failed is sent again")
	}
}

// TestAbandonedAttemptStops expects an attempt to stop reading at once when the next one begins, or when the request has an
// error, although the source blocks.
func TestAbandonedAttemptStops(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(*streamedBody)
		want error
	}{
		"the next attempt":          {func(b *streamedBody) { b.next() }, errAttemptOver},
		"an error of the request":   {(*streamedBody).abandon, errAttemptOver},
		"the end of the body":       {func(b *streamedBody) { _ = b.first.Close() }, errAttemptOver},
		"the end of the connection": {func(b *streamedBody) { b.first.end() }, errConnectionClosed},
	} {
		source, w := io.Pipe()
		b := newStreamed(source, 1000)
		read := make(chan error)
		go func() {
			_, err := io.ReadAll(&b.first)
			read <- err
		}()
		if _, err := w.Write([]byte("x")); err != nil { // then the attempt waits for more
			t.Fatal(err)
		}
		tt.end(b)
		if err := <-read; !errors.Is(err, tt.want) {
			t.Errorf("%s: %v; want %v", name, err, tt.want)
		}
		_ = w.Close()
	}
}
