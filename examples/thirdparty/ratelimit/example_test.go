package ratelimit_test

import (
	"context"
	"fmt"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/publish"
	"github.com/xdsforge/xdsforge/registry"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/acme/ratelimit"
	"example.com/acme/ratelimitpb"
)

// A policy that clients would reject never enters the store. Its author gets every violation.
func ExamplePut() {
	r := registry.New()
	ratelimit.Register(r)
	types, err := r.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	policies := source.NewMemory()
	store := publish.NewChecked(policies, types)
	ctx := context.Background()

	p := &ratelimitpb.Policy{Name: "checkout", Limit: &ratelimitpb.Limit{PerSecond: wrapperspb.UInt32(50)}}
	fmt.Println(ratelimit.Put(ctx, store, p))

	p.Limit = &ratelimitpb.Limit{PerSecond: wrapperspb.UInt32(0), Burst: new(uint32(20000))}
	_, err = ratelimit.Put(ctx, store, p)
	fmt.Println(err)
	fmt.Println("revision", policies.Revision())
	// Output:
	// 1 <nil>
	// publish: "acme.ratelimit.v1.Policy" "checkout": limit.per_second = 0; must be at least 1, and limit.burst = 20000; must be at most 10000
	// revision 1
}

// A transaction changes several policies together or none.
func ExampleAddTo() {
	store := source.NewMemory()
	tx := new(publish.Tx).IfUnchanged(0)
	for _, name := range []string{"checkout", "search"} {
		if err := ratelimit.AddTo(tx, &ratelimitpb.Policy{Name: name, Limit: new(ratelimitpb.Limit)}); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(store.Commit(context.Background(), tx))
	fmt.Println(ratelimit.Delete(context.Background(), store, "search"))
	// Output:
	// 1 <nil>
	// 2 <nil>
}
