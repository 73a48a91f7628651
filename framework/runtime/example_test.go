package runtime_test

import (
	"fmt"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

type update struct{ resource.Meta }

// A shard has one writer. Reading takes no lock.
func ExampleShard() {
	shard := runtime.NewShard[*update]()
	name, _ := xdstp.Parse("checkout")
	dc := resource.DecodeContext{Name: name, Version: "7"}
	shard.Store(&update{dc.Meta([]byte("as received"))})

	u, ok := shard.Get(name)
	fmt.Println(ok, u.Version(), string(u.Raw()))
	// Output: true 7 as received
}
