// Package adsserver is the core of every ADS server of this module: in the process of a client, in
// tests, and behind gRPC. It answers both variants of the protocol from the resources of a
// [source.Source].
//
// A [Core] reads one Source for each authority. A [Stream] is the server's end of an ADS stream,
// without I/O: [Stream.Request] takes an encoded request, and [Stream.Next] waits for the next
// response.
//
// # Work and memory
//
// A core holds only resources that a stream subscribes to, once for all streams. A change visits
// only the streams that subscribe to its resources. A stream notes changed resources and builds
// responses when its client reads. A client that does not read therefore costs at most its number
// of names. Responses consist of encoded resources that all streams share. If two streams need the
// same ones, they share one buffer.
//
// # Order
//
// All changes that one [source.Change] makes are visible to a stream at once. A stream sends new
// and changed resources in the order CDS, EDS, LDS, RDS, others, and afterwards removals in the
// reverse order. In state of the world, a response of a complete type has removed resources until then.
// With [Config.RemovalPause], removals wait until the client has followed the changes.
// In the delta protocol, a response above the limit of its size is divided.
//
// # Locks
//
// One mutex guards a core and its streams. It is never held during I/O. A core calls sessions with the
// mutex held, because they never call back on the same goroutine.
//
// A request with many names, and the end of a stream with many subscriptions, release the mutex after each
// part of them. So does a stream that builds a large response. A stream sends nothing before its request is handled. The streams of one client take turns
// ([Budget]), so that at most one of them waits for the mutex. A change for another client therefore waits for one part
// of the work of each client, and not for the work. Those who read the states of all streams ([Core.Clients]) take turns and
// read them in parts, too.
package adsserver
