package main

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// Types.
const (
	prefix      = "type.googleapis.com/"
	clusterURL  = prefix + "envoy.config.cluster.v3.Cluster"
	endpointURL = prefix + "envoy.config.endpoint.v3.ClusterLoadAssignment"
	listenerURL = prefix + "envoy.config.listener.v3.Listener"
	routeURL    = prefix + "envoy.config.route.v3.RouteConfiguration"
)

// Fields of a DiscoveryRequest.
const (
	wholeVersion, wholeNode, wholeNames, wholeURL, wholeNonce, wholeError, wholeLocators = 1, 2, 3, 4, 5, 6, 7
)

// Fields of a DeltaDiscoveryRequest.
const (
	deltaNode, deltaURL, deltaAdd, deltaRemove, deltaInitial, deltaNonce, deltaError, deltaLocators = 1, 2, 3, 4, 5, 6, 7, 8
)

// settling is the time after the last message in which the server must answer or end the stream.
const settling = time.Second

// sends returns an attack that sends messages on one stream and reads the responses.
func sends(name string, s scene, budget int64, ends, method string, messages func() [][]byte) attack {
	return attack{name: name, scene: s, budget: budget, ends: ends, run: func(a *attacker) error {
		list := messages()
		a.begin()
		c, err := a.open(method)
		if err != nil {
			return err
		}
		c.read()
		for _, m := range list {
			if !c.send(m) {
				break
			}
		}
		return c.settle(settling)
	}}
}

// one returns the only message of an attack.
func one(fields ...[]byte) func() [][]byte {
	return func() [][]byte { return [][]byte{join(fields...)} }
}

func join(fields ...[]byte) (b []byte) {
	for _, f := range fields {
		b = append(b, f...)
	}
	return b
}

// turns repeats messages in turn.
func turns(n int, messages ...[]byte) [][]byte {
	list := make([][]byte, 0, n)
	for i := range n {
		list = append(list, messages[i%len(messages)])
	}
	return list
}

// names are n numbered names in a field.
func names(field protowire.Number, n int, format string) []byte {
	return wire.Repeated(n, func(i int) []byte { return wire.Text(field, fmt.Sprintf(format, i)) })
}

// full are numbered names of a length in a field, as many as one request has room for.
func full(field protowire.Number, length, from int) []byte {
	return wire.Fill(wire.Usual-4*length/3-256, func(i int) []byte { return wire.Text(field, fmt.Sprintf("%0*d", length, from+i)) })
}

// text is a text that fills a request.
func text() string { return strings.Repeat("x", wire.Usual-1<<10) }
