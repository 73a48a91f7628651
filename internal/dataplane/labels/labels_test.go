package labels

import (
	"context"
	"maps"
	"testing"

	"google.golang.org/grpc/experimental/stats/telemetry"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A version of grpc-go that stores callbacks elsewhere fails this test, and only this one.
func TestGRPCStillShowsItsCallbacks(t *testing.T) {
	if New() == nil {
		t.Error("calls have no labels with this version of grpc-go")
	}
}

// Each callback gets the labels, and cannot change those of later calls.
func TestUpdate(t *testing.T) {
	find := New()
	if find(t.Context()) != nil {
		t.Error("a context without callbacks has some")
	}
	var got []map[string]string
	ctx := t.Context()
	for range 2 {
		ctx = telemetry.NewContextWithLabelCallback(ctx, func(labels map[string]string) {
			got = append(got, maps.Clone(labels))
			labels["changed"] = "by the callback"
		})
	}
	labels := map[string]string{"a": "b"}
	find(ctx)(labels)
	if len(got) != 2 || got[0]["a"] != "b" || got[1]["a"] != "b" || len(labels) != 1 {
		t.Errorf("callbacks got %v; the labels are %v now", got, labels)
	}
}

type strings func(map[string]string)

// Without a key, with another type of values, or with callbacks that do not get the labels, there are
// no labels.
func TestVerified(t *testing.T) {
	type key struct{}
	grpcs := New()
	for name, find := range map[string]Finder{
		"no key": finder(func(ctx context.Context, _ strings) context.Context { return ctx }),
		"other key": finder(func(ctx context.Context, _ strings) context.Context {
			return context.WithValue(ctx, key{}, ctx.Value(key{}))
		}),
		"other type": finder(func(ctx context.Context, c strings) context.Context {
			return telemetry.NewContextWithLabelCallback(ctx, func(m map[string]string) { c(m) })
		}),
		"no effect": func(context.Context) Update { return nil },
		"one call":  func(ctx context.Context) Update { return once(grpcs(ctx)) },
		"always":    func(context.Context) Update { return func(map[string]string) {} },
	} {
		if verified(find) != nil {
			t.Errorf("%s: the finder was accepted", name)
		}
	}
}

// once calls no callback.
func once(u Update) Update {
	if u == nil {
		return nil
	}
	return func(map[string]string) {}
}

// The labels of a cluster have the value "unknown" if its metadata has no string.
func TestOf(t *testing.T) {
	u := &cluster.Update{Metadata: map[string]resource.Metadatum{"com.google.csm.telemetry_labels": {Value: map[string]any{"service_name": "s", "service_namespace": true}}}}
	if got, want := Of(u), map[string]string{ServiceName: "s", ServiceNamespace: unknown}; !maps.Equal(got, want) {
		t.Errorf("labels %v; want %v", got, want)
	}
	got := OfEndpoint("c", endpoint.LocalityID{Region: "r", Zone: `"z"`})
	if want := map[string]string{Locality: `{region="r", zone="\"z\"", sub_zone=""}`, BackendService: "c"}; !maps.Equal(got, want) {
		t.Errorf("labels %v; want %v", got, want)
	}
}
