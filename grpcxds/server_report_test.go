package grpcxds

import (
	"strings"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/xdsforge/xdsforge/plugins/listener"
)

// The server calls the callback when the mode or the reason changes, and not for each Listener
// (A36).
func TestModesAreReportedOnce(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		events := w.serve("10.0.0.1:80").events
		publish := func(host, comment string) {
			w.set(listener.Type().URL(), new(listenerv3.Listener), `name: "server/10.0.0.1:80" address { socket_address { address: %q port_value: 80 } } %s`,
				host, anyChain(inline(`name: "`+comment+`" `+anyRoute)))
		}
		for _, step := range []struct {
			host, comment string
			news          string // a part of the reason, or "serves"; empty: no call
		}{
			{"10.0.0.1", "first", "serves"},
			{"10.0.0.1", "second", ""},
			{"10.0.0.7", "third", `"10.0.0.7:80"`},
			{"10.0.0.7", "fourth", ""},
			{"10.0.0.8", "fifth", `"10.0.0.8:80"`},
			{"10.0.0.1", "sixth", "serves"},
		} {
			publish(step.host, step.comment)
			w.pass(time.Second)
			var got []string
			for len(events) > 0 {
				e := <-events
				if e.mode == Serving {
					got = append(got, "serves")
				} else {
					got = append(got, e.err.Error())
				}
			}
			if want := step.news; len(got) > 1 || (len(got) == 1) != (want != "") || want != "" && !strings.Contains(got[0], want) {
				w.Errorf("%s Listener: reported %q; want %q", step.comment, got, want)
			}
		}
	})
}
