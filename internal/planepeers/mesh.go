package main

import (
	"fmt"
	"net"
	"strings"
)

// domain is the domain of all services.
const domain = ".default.svc.cluster.local"

// An endpointOf is an endpoint of a service.
type endpointOf struct {
	addr  string // host:port
	label string // the value of its label "version"
}

// service returns a ServiceEntry with one port, 80, and static endpoints.
func service(name string, list ...endpointOf) string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: %[1]s, namespace: default}
spec:
  hosts: [%[1]s%[2]s]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: 80, name: grpc, protocol: GRPC}]
  endpoints:
`, name, domain)
	for _, e := range list {
		host, port, err := net.SplitHostPort(e.addr)
		if err != nil {
			panic(err) // our own address
		}
		fmt.Fprintf(&b, "  - {address: %s, ports: {grpc: %s}, labels: {version: %s}, serviceAccount: %s}\n", host, port, e.label, name)
	}
	return b.String()
}

// clusterOf returns the name of the cluster, and of the endpoints, of a service.
func clusterOf(name string) string { return "outbound|80||" + name + domain }
