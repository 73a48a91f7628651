package main

import (
	"testing"

	"github.com/xdsforge/xdsforge/httpxds"
)

// TestLoad expects the client of the stories to report lost requests.
func TestLoad(t *testing.T) {
	w, err := newWorld(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	s, err := w.site(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []httpxds.Protocol{httpxds.HTTP1, httpxds.HTTP2} {
		c, err := w.client(s.addr, p)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.load(t.Context(), 100, 4); err != nil || c.dials.Load() == 0 {
			t.Errorf("%v, with %d connections; want no error", err, c.dials.Load())
		}
		_ = c.transport.Close()
	}
	c, err := w.client("127.0.0.1:1", httpxds.HTTP1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.transport.Close()
	if err := c.load(t.Context(), 10, 2); err == nil {
		t.Error("requests to a port that nobody serves succeed")
	}
}
