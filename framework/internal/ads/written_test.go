package ads

import (
	"slices"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// The response to a request may be handled before the event that the request has left.
func TestResponseBeforeWrittenAnswersACollection(t *testing.T) {
	for _, protocol := range []Protocol{StateOfTheWorld, Delta} {
		r := newDeltaRig(t, protocol)
		r.do(Subscribe{clusters, resource.Wildcard}, Subscribe{clusters, "a"}, Turn{})
		r.do(Opened{})
		r.do(Turn{}) // the request is handed over
		asked := func(ev Event, want ...string) {
			t.Helper()
			var names []string
			for _, e := range r.do(ev) {
				if a, ok := e.(Asked); ok {
					names = append(names, a.Names...)
				}
			}
			if !slices.Equal(names, want) {
				t.Errorf("protocol %v, %T: asked for %q, want %q", protocol, ev, names, want)
			}
		}
		asked(Received{Type: endpoints, Nonce: "1"})
		asked(Received{Type: clusters, Nonce: "1"}, resource.Wildcard)
		asked(Received{Type: clusters, Nonce: "2"})
		asked(Written{}, "a") // whose timer must not start earlier
	}
}
