// Package xdstest is a kit for tests of programs that use xdsforge, and of resource types.
//
// # Without a control plane
//
// A [Fake] is a resource.Client for unit tests. [Emit] gives its watches an event: an update, an
// error, or an ambient error. [Decode] makes an update of a message, as a client does with a
// resource.
//
//	f := xdstest.NewFake()
//	go watchClusters(ctx, f) // the code under test
//	u := xdstest.Decode(t, cluster.Type(), &clusterv3.Cluster{…})
//	xdstest.Emit(f, cluster.Type(), "checkout", cluster.Event{Update: u})
//
// # With a control plane
//
// [Start] runs a control plane on loopback, and [InMemory] makes one that works in a bubble of
// testing/synctest. A [ControlPlane] makes clients and environments that use it:
//
//	cp := xdstest.Start(t, cluster.Type())
//	cp.Set(&clusterv3.Cluster{…})
//	c := cp.Client(xdsforge.WithTypes(cluster.Register))
//
// The methods whose names begin with Want wait for an event, and fail the test with a message
// that describes the subscriptions and rejections of the clients.
//
// # Certificates
//
// A [CA] issues certificates, and writes them to files for the certificate provider file_watcher.
//
// Everything that the kit starts stops when the test ends.
package xdstest
