package client_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/feature"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// injectDelta sends a delta response with things, given as name and tag, and removals.
func injectDelta(t *testing.T, s *memoryads.Server, list [][2]string, removed ...string) {
	t.Helper()
	r := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: things.URL(), Nonce: "injected", RemovedResources: removed}
	for _, x := range list {
		b := thing(x[0], x[1])
		r.Resources = append(r.Resources, &discoveryv3.Resource{Name: b.Name, Version: x[1], Resource: &anypb.Any{TypeUrl: things.URL(), Value: b.Body}})
	}
	raw, err := proto.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	s.Inject(raw)
}

// The answer to a glob crosses the request for the wildcard. The wildcard is synced by its own answer, which has its
// members, and the client asks for it again in case that the server has none.
func TestAnswerToAGlobIsNoneToTheWildcard(t *testing.T) {
	const dir = "xdstp://e/test.Thing/g/"
	for name, test := range map[string]struct {
		resources [][2]string
		removed   []string
		early     bool // the response answers the wildcard
	}{
		"members of the glob":      {resources: [][2]string{{dir + "x", "1"}}},
		"an empty glob":            {removed: []string{dir + "*"}},
		"a member of the wildcard": {resources: [][2]string{{dir + "x", "1"}, {"a", "1"}}, early: true},
		"a member that is invalid": {resources: [][2]string{{dir + "x", "1"}, {"a", "bad"}}, early: true},
		"another glob's member":    {resources: [][2]string{{dir + "x", "1"}, {"xdstp://e/test.Thing/h/x", "1"}}, early: true},
		"an unknown removal":       {removed: []string{dir + "deep/unknown"}, early: true},
		"no resources":             {early: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memoryads.NewServer(memoryads.Type{URL: things.URL(), Complete: true, Wildcard: true})
				c := thingsOf(t, s, []any{feature.TransportDelta})
				s.Silence(transport.MethodDeltaADS, true)
				collect(t, c, dir+"*")
				synctest.Wait()
				all := collect(t, c, "*")
				synctest.Wait()
				before := len(s.Requests())
				injectDelta(t, s, test.resources, test.removed...)
				synctest.Wait()
				if synced(t, all) != test.early {
					t.Errorf("synced = %t after the response, want %t", !test.early, test.early)
				}
				repeated := false
				for _, r := range s.Requests()[before:] {
					names := r.(*discoveryv3.DeltaDiscoveryRequest).GetResourceNamesSubscribe()
					repeated = repeated || len(names) == 1 && names[0] == resource.Wildcard
				}
				if repeated == test.early {
					t.Errorf("wildcard requested again = %t, want %t", repeated, !test.early)
				}
				if test.early {
					return
				}
				injectDelta(t, s, nil)
				pass(client.DefaultWatcherBudget) // nobody asks the glob
				if !synced(t, all) {
					t.Error("the wildcard is not synced after an empty response")
				}
			})
		})
	}
}

// synced reports whether an event of the collector says that all members are known.
func synced(t *testing.T, c *collector) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	s, err := c.o.Next(ctx)
	return err == nil && s.Synced
}
