// Package explain says which way a call takes through the resources of a target: the Listener, the
// virtual host, the routes that it passes over and why, the filters after overrides, the cluster, and
// the load balancing policy.
//
// It decides by the functions of the resource types, which gRPC channels of this module use, too. It
// looks at one route or matcher at a time, to find the one that does not match.
package explain
