package xdstest_test

import (
	"fmt"
	"runtime"
	"testing"
)

// A recorder replaces the testing.TB of a test that fails.
type recorder struct {
	testing.TB
	message string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatal(args ...any) {
	r.message = fmt.Sprint(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }

// failure runs a test on its own goroutine and returns its failure message.
func failure(t *testing.T, test func(*recorder)) string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(r)
	}()
	<-done
	return r.message
}
