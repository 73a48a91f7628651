package xdstp_test

import (
	"fmt"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

func ExampleParse() {
	n, err := xdstp.Parse("xdstp://east.example/envoy.config.cluster.v3.Cluster/shop/checkout?zone=b&env=prod")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(n)
	fmt.Println(n.Authority(), n.Type(), n.ID())
	for key, value := range n.Params() {
		fmt.Println(key, "=", value)
	}
	// Output:
	// xdstp://east.example/envoy.config.cluster.v3.Cluster/shop/checkout?env=prod&zone=b
	// east.example envoy.config.cluster.v3.Cluster shop/checkout
	// env = prod
	// zone = b
}

func ExampleParse_error() {
	_, err := xdstp.Parse("xdstp://east.example/envoy.config.cluster.v3.Cluster/50%")
	fmt.Println(err)
	// Output:
	// xdstp: id = "50%"; "%" must be followed by two hexadecimal digits
}

func ExampleParseLocator() {
	l, err := xdstp.ParseLocator("xdstp://cloud/envoy.config.endpoint.v3.ClusterLoadAssignment/a" +
		"#alt=xdstp://onprem/envoy.config.endpoint.v3.ClusterLoadAssignment/b")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l.Name)
	for _, alt := range l.Alternates {
		fmt.Println("or", alt.Name)
	}
	// Output:
	// xdstp://cloud/envoy.config.endpoint.v3.ClusterLoadAssignment/a
	// or xdstp://onprem/envoy.config.endpoint.v3.ClusterLoadAssignment/b
}

func ExampleName_CheckType() {
	n, err := xdstp.Parse("xdstp://east.example/envoy.config.route.v3.RouteConfiguration/shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(n.CheckType("envoy.config.cluster.v3.Cluster"))
	// Output:
	// xdstp: type = "envoy.config.route.v3.RouteConfiguration"; must be envoy.config.cluster.v3.Cluster, the requested type
}

func ExampleExpand() {
	fmt.Println(xdstp.Expand("xdstp://east.example/envoy.config.listener.v3.Listener/%s", "[::1]:8080"))
	fmt.Println(xdstp.Expand("listener/%s", "[::1]:8080"))
	// Output:
	// xdstp://east.example/envoy.config.listener.v3.Listener/%5B::1%5D:8080
	// listener/[::1]:8080
}
