package etcd_test

import (
	"fmt"

	"github.com/xdsforge/xdsforge/store/etcd"
)

// The options of a store in a URL, as commands take them.
func ExampleParseURL() {
	o, err := etcd.ParseURL("etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/payments?txn-bytes=1000000")
	fmt.Println(o.Endpoints, o.Tenant, o.TxnBytes, err)
	// Output: [10.0.0.1:2379 10.0.0.2:2379 10.0.0.3:2379] payments 1000000 <nil>
}
