package clustermanager

import "google.golang.org/grpc/balancer"

// New returns the policy for a ClientConn that is not gRPC's, such as that of HTTP clients. gRPC channels find the policy
// by its name.
func New(cc balancer.ClientConn, options balancer.BuildOptions) balancer.Balancer {
	return newManager(cc, options)
}
