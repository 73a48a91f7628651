package routing_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// chooser is a filter that chooses the cluster that a header names. The configuration says whether it sees messages.
func chooser() httpfilter.Filter {
	choose := func(ctx context.Context, call *httpfilter.ClientCall) (context.Context, error) {
		if to := call.Metadata["to"]; len(to) > 0 {
			ctx, _ = lbtree.WithAffinity(ctx, nil, to[0])
		}
		return ctx, nil
	}
	return httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{
			Config: "google.protobuf.BoolValue", Sides: resource.ClientSide,
			Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
				m := new(wrapperspb.BoolValue)
				err := c.Unmarshal(m)
				return m.GetValue(), err
			},
		},
		NewClient: httpfilter.ClientFunc(func(config, _ any) (httpfilter.ClientInterceptor, error) {
			if messages, _ := config.(bool); messages {
				return seesMessages{httpfilter.ClientBefore(choose)}, nil
			}
			return httpfilter.ClientBefore(choose), nil
		}),
	}
}

type seesMessages struct{ httpfilter.ClientInterceptor }

// A filter may choose another cluster of the route (A60). The call keeps that cluster in the configuration until its end,
// and not the first one.
func TestChosenCluster(t *testing.T) {
	for _, messages := range []bool{false, true} {
		w := newWorld(t)
		w.filters = append(w.filters, chooser())
		held := &subscriber{held: make(map[string]int)}
		w.channel.SetSubscriber(held)
		manager := fmt.Sprintf(`http_filters { name: "chooser" typed_config { [type.googleapis.com/google.protobuf.BoolValue] { value: %t } } }`, messages)
		w.manage(manager, `routes { match { prefix: "" } route { weighted_clusters {
			clusters { name: "a" weight { value: 1000000000 } } clusters { name: "b" weight { value: 1 } } } } }`)
		w.both(t, func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error)) {
			for to, want := range map[string]string{"b": "b", "a": "a", "c": "a", "": "a"} {
				if got, err := call(metadata.AppendToOutgoingContext(soon(t), "to", to), "/p.S/M"); got != want || err != nil {
					t.Errorf("messages %t: a call whose filter chooses %q goes to %s, %v; want %s", messages, to, got, err, want)
				}
			}
		})
		begun, end := make(chan struct{}), make(chan struct{})
		w.handler(func(cluster string, s grpc.ServerStream) error {
			_ = s.RecvMsg(new(wrapperspb.StringValue))
			close(begun)
			<-end
			return s.SendMsg(wrapperspb.String(cluster))
		})
		result := make(chan string)
		go func() {
			ctx := metadata.AppendToOutgoingContext(soon(t), "to", "b")
			reply := new(wrapperspb.StringValue)
			err := w.cc.Invoke(ctx, "/p.S/M", wrapperspb.String("?"), reply)
			result <- fmt.Sprint(reply.GetValue(), err)
		}()
		<-begun
		w.manage(manager, `routes { match { prefix: "" } route { cluster: "c" } }`)
		if got := held.String(); got != "b c" {
			t.Errorf("messages %t: during the call, the clusters %q are kept; want b and c", messages, got)
		}
		close(end)
		if got := <-result; got != "b<nil>" {
			t.Errorf("messages %t: the call ends with %s; want b", messages, got)
		}
		w.channel.Set(nil, nil)
		if got := held.String(); got != "" {
			t.Errorf("messages %t: without a table and calls, the clusters %q are kept; want none", messages, got)
		}
	}
}
