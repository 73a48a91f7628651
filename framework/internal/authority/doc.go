// Package authority is one xDS authority, as a state machine without I/O.
//
// gRFC A47 keys the resource cache by authority, then type, then name. A [Machine] is the value at
// the first level. It holds the records of one authority. All old-style names together have their
// own machine. The machine notifies the watchers of each resource, and writes the shards that the
// rest of the program reads.
//
// # States
//
// Every watched resource is in one of the states of gRFC A88:
//
//	Requested      requested, nothing known yet
//	Acked          received and valid
//	Nacked         the newest version was rejected; an older one may be in use
//	DoesNotExist   the timer expired, or the control plane removed it
//	Timeout        the timer expired, and means a slow control plane
//	ReceivedError  the control plane sent an error instead of it (xRFC TP3)
//
// # Errors
//
// Data errors (a rejected version, a removal) belong to one resource. If an older version is cached
// they are ambient, unless the server has the feature fail_on_data_errors: then the cached version
// is dropped. The loss of the control plane is a transient error of all resources at once. It is
// ambient for cached resources and a failure for the others. Duplicate errors are suppressed.
//
// # Servers
//
// An authority has an ordered list of servers and uses one at a time (gRFC A71). A serverChoice
// decides which. When the authority falls back, it subscribes to all watched resources at the next
// server. With the first response of an earlier server, it unsubscribes from the later ones.
// Resources that only another server had must arrive from the server in use within the time of the
// does-not-exist timer.
//
// # Collections
//
// The members of a watched wildcard or glob collection (TP1) are cached without being watched by
// name. The control plane adds and removes them. A removed member is always dropped, because a
// collection consists of the resources that the control plane lists.
//
// # Timers
//
// A requested resource that does not arrive within 15 s does not exist (gRFC A57). Under
// resource_timer_is_transient_error the time is 30 s, and its end is a timeout. The timer runs only
// while a stream is up, and only for resources that are not cached. It pauses while a response
// arrives or is decoded ([Machine.Pause]). If the server sent nothing at all in that time, the resource is
// still a reason to fall back. A resource with a time to live is dropped when that ends without a
// heartbeat.
package authority
