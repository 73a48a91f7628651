package httpfilter_test

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A patience limits the duration of calls to the configured time.
type patience time.Duration

func (p patience) limit(ctx context.Context, call *httpfilter.ServerCall) (context.Context, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p))
	call.OnDone(func(error) { cancel() })
	return ctx, nil
}

// A program can register its own filter. A TypedStruct configures it, so it needs no message.
func ExampleFilter() {
	f := httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{
			Config: "shop.Patience",
			Sides:  resource.ServerSide,
			Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
				seconds := c.Fields.GetFields()["seconds"].GetNumberValue()
				var v resource.Violations
				if seconds <= 0 {
					v.Add((*resource.Path)(nil).Field("seconds"), seconds, "must be positive")
				}
				return time.Duration(seconds * float64(time.Second)), v.Err()
			},
		},
		NewServer: httpfilter.ServerFunc(func(config, _ any) (httpfilter.ServerInterceptor, error) {
			return httpfilter.ServerBefore(patience(config.(time.Duration)).limit), nil
		}),
	}

	// The channel first receives a Listener and then makes a call.
	fields, _ := structpb.NewStruct(map[string]any{"seconds": 2})
	config, err := f.Parse(nil, resource.TypedConfig{Message: f.Config, Fields: fields})
	fmt.Println(config, err)
	instance, err := f.NewServer(httpfilter.Host{Name: "patience"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer instance.Close()
	i, err := instance.Interceptor(config, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	call := &httpfilter.ServerCall{Method: "/shop.Stock/Get"}
	ctx, err := i.(httpfilter.ServerBefore)(context.Background(), call)
	_, limited := ctx.Deadline()
	fmt.Println(limited, err)
	call.Done(nil)
	fmt.Println(ctx.Err())
	// Output:
	// 2s <nil>
	// true <nil>
	// context canceled
}
