// Package labels passes telemetry labels of a call to the stats handlers of its channel, such as
// grpc.lb.locality to grpc-go's OpenTelemetry plugin (gRFC A78, gRFC A89).
//
// grpc-go has a public function to register a callback for labels, but none to call the callbacks.
// Package labels learns from the public function where the callbacks are in a context. A check at the
// start proves that. If a version of grpc-go stores them elsewhere, calls have no labels.
package labels

import (
	"context"
	"fmt"
	"maps"

	"google.golang.org/grpc/experimental/stats/telemetry"

	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// The names of labels.
const (
	// Locality is the locality of the endpoint.
	Locality = "grpc.lb.locality"
	// BackendService is the leaf cluster of the call (gRFC A89).
	BackendService = "grpc.lb.backend_service"
	// ServiceName and ServiceNamespace come from the cluster's metadata.
	ServiceName      = "csm.service_name"
	ServiceNamespace = "csm.service_namespace_name"
)

// unknown is the value of labels that the cluster does not have.
const unknown = "unknown"

// A Finder finds the callbacks of a call. A nil Finder finds none.
type Finder func(ctx context.Context) Update

// An Update passes labels to the callbacks of a call. It does not change the map. Nil: there are no
// callbacks.
type Update func(labels map[string]string)

// In returns the update of a call.
func (f Finder) In(ctx context.Context) Update {
	if f == nil {
		return nil
	}
	return f(ctx)
}

// New returns a finder for this version of grpc-go, or nil if there is none.
func New() Finder { return verified(finder(telemetry.NewContextWithLabelCallback)) }

// finder returns a finder of the callbacks that a function registers. The type of a callback is
// internal to grpc-go, and inferred from the function.
func finder[C ~func(map[string]string)](register func(context.Context, C) context.Context) Finder {
	s := &spy{Context: context.Background()}
	register(s, func(map[string]string) {})
	if s.key == nil {
		return nil
	}
	key := s.key
	return func(ctx context.Context) Update {
		callbacks, ok := ctx.Value(key).([]C)
		if !ok {
			return nil
		}
		return func(labels map[string]string) {
			labels = maps.Clone(labels) // a callback may keep and change it
			for _, c := range callbacks {
				c(labels)
			}
		}
	}
}

// A spy remembers the first key that is looked up in it.
type spy struct {
	context.Context
	key any
}

// Value implements [context.Context].
func (s *spy) Value(key any) any {
	if s.key == nil {
		s.key = key
	}
	return s.Context.Value(key)
}

// verified returns the finder if callbacks that grpc-go registers get the labels of an update once.
func verified(find Finder) Finder {
	if find == nil || find(context.Background()) != nil {
		return nil
	}
	got := 0
	ctx := context.Background()
	for range 2 {
		ctx = telemetry.NewContextWithLabelCallback(ctx, func(labels map[string]string) {
			if len(labels) == 1 && labels[Locality] == unknown {
				got++
			}
		})
	}
	update := find(ctx)
	if update == nil {
		return nil
	}
	update(map[string]string{Locality: unknown})
	if got != 2 {
		return nil
	}
	return find
}

// Of returns the labels that a cluster has for each call, whether or not the call gets an endpoint.
func Of(u *cluster.Update) map[string]string {
	m := map[string]string{ServiceName: unknown, ServiceNamespace: unknown}
	for label, key := range map[string]string{ServiceName: "service_name", ServiceNamespace: "service_namespace"} {
		if v := u.TelemetryLabel(key); v != "" {
			m[label] = v
		}
	}
	return m
}

// OfEndpoint returns the labels of calls to the endpoints of a locality in a leaf cluster.
func OfEndpoint(leafCluster string, id endpoint.LocalityID) map[string]string {
	return map[string]string{
		Locality:       fmt.Sprintf("{region=%q, zone=%q, sub_zone=%q}", id.Region, id.Zone, id.SubZone),
		BackendService: leafCluster,
	}
}
