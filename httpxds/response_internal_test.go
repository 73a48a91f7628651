package httpxds

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// A closingBody is the body of a response. It counts its calls of Close.
type closingBody struct {
	io.Reader
	closes int
}

// Read implements [io.Reader].
func (b *closingBody) Read(p []byte) (int, error) {
	if b.closes > 0 {
		return 0, errAttemptOver
	}
	return b.Reader.Read(p)
}

// Close implements [io.Closer].
func (b *closingBody) Close() error {
	b.closes++
	return nil
}

// TestCloseOfAWholeResponse expects Close to leave the stream of HTTP/2 alone if the response was read to its end and the request
// was canceled then. It expects Close to end the stream in any other case, and Read to fail after Close in every case.
func TestCloseOfAWholeResponse(t *testing.T) {
	for name, c := range map[string]struct {
		atOnce, whole bool
		closes        int
	}{
		"read to its end":                       {true, true, 0},
		"with an unread part":                   {true, false, 1},
		"read to its end, streamed request":     {false, true, 1},
		"with an unread part, streamed request": {false, false, 1},
	} {
		body := &closingBody{Reader: strings.NewReader("response")}
		x := &exchange{body: body, atOnce: c.atOnce, ctx: t.Context()}
		x.over.Store(true) // the account of the endpoint is another matter
		if _, err := io.ReadFull(x, make([]byte, len("response"))); err != nil {
			t.Fatal(err)
		}
		if c.whole {
			if _, err := x.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("%s: Read at the end returns %v; want EOF", name, err)
			}
		}
		if err := x.Close(); err != nil || body.closes != c.closes {
			t.Errorf("%s: Close returns %v, and closes the stream %d times; want %d", name, err, body.closes, c.closes)
		}
		if _, err := x.Read(make([]byte, 1)); !errors.Is(err, errAttemptOver) {
			t.Errorf("%s: Read after Close returns %v; want the error of a closed body", name, err)
		}
	}
}
