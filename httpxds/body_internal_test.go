package httpxds

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

// TestCloseIsNoFailureOfTheBody expects the error of a read that Close has ended not to be one of the program: net/http closes
// the body when the endpoint has reset the request.
func TestCloseIsNoFailureOfTheBody(t *testing.T) {
	for _, length := range []int64{-1, 5} {
		synctest.Test(t, func(t *testing.T) {
			pipe, w := io.Pipe()
			defer w.Close()
			b := &checkedBody{source: pipe, length: length}
			read := make(chan error)
			go func() {
				_, err := b.Read(make([]byte, 1))
				read <- err
			}()
			synctest.Wait()
			_ = b.Close()
			if err := <-read; err == nil || b.failure() != nil {
				t.Errorf("the read returned %v, and the failure of the program is %v; want an error and no failure", err, b.failure())
			}
		})
	}
}

// TestWrappedEndIsAFailure expects an error that wraps io.EOF to be one of the program, because net/http does not take it for the
// end of the body.
func TestWrappedEndIsAFailure(t *testing.T) {
	wrapped := fmt.Errorf("disk: %w", io.EOF)
	b := &checkedBody{source: io.NopCloser(iotest.ErrReader(wrapped)), length: -1}
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, wrapped) || !errors.Is(b.failure(), wrapped) {
		t.Errorf("%v, failure %v; want both to be %v", err, b.failure(), wrapped)
	}
}
