// Package adsmodel has a client and an oracle for random tests of ADS servers and relays.
//
// A [Client] speaks both variants of the protocol, with the habits of different programs. It keeps the content of responses, and
// reports each resource that it is told to be gone. A [Truth] has the resources of the sources. It knows nothing of a
// server: the resources of a client follow from its subscriptions, its permissions and the truth.
//
// Bodies of resources begin with the name and "=". A '>' in a body precedes the name of a cluster that the resource refers
// to.
package adsmodel

import (
	"context"
	"strings"
)

// A Stream is the server's end of an ADS stream.
type Stream interface {
	Request(raw []byte) error
	Next(ctx context.Context) ([][]byte, error)
	Close(err error)
}

// Type URLs of types with rules of their own.
const (
	ClusterURL  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	EndpointURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	RouteURL    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"

	wrapperURL = "type.googleapis.com/envoy.service.discovery.v3.Resource"
)

// Wildcard is the collection of the old-style names.
const Wildcard = "*"

// Collection returns the collection of a name of the models: the folder of an xdstp name, or the wildcard.
func Collection(name string) string {
	if !strings.HasPrefix(name, "xdstp:") {
		return Wildcard
	}
	return name[:strings.LastIndexByte(name, '/')+1] + Wildcard
}

// IsCollection reports whether a name of the models stands for several resources.
func IsCollection(name string) bool { return name == Wildcard || strings.HasSuffix(name, "/*") }

// Authority returns the authority of a name of the models, or "" for an old-style name.
func Authority(name string) string {
	rest, ok := strings.CutPrefix(name, "xdstp://")
	if !ok {
		return ""
	}
	authority, _, _ := strings.Cut(rest, "/")
	return authority
}

// target returns the cluster that a resource refers to, or "".
func target(body string) string {
	_, cluster, _ := strings.Cut(body, ">")
	return cluster
}
