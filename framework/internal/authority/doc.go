// Package authority is one xDS authority, as a state machine without I/O.
//
// gRFC A47 keys the resource cache by authority, then type, then name. A
// [Machine] is the first level's value: it holds the records of one authority
// (or of all old-style names, which have a machine of their own), tells the
// watchers of each resource what they need to know, and keeps the shards from
// which the rest of the program reads.
//
// # States
//
// Every resource that somebody watches is in one of the states of gRFC A88:
//
//	Requested      asked for, nothing known yet
//	Acked          received and valid
//	Nacked         the newest version was rejected; an older one may be in use
//	DoesNotExist   the timer fired, or the control plane removed it
//	Timeout        the timer fired, and means a slow control plane
//	ReceivedError  the control plane said why it does not send it (xRFC TP3)
//
// # Errors
//
// Data errors (a rejected version, a removal) belong to one resource. While an
// older version is cached they are ambient, unless the server has the feature
// fail_on_data_errors: then the cached version is dropped. Losing the control
// plane is a transient error of all resources at once: ambient for what is
// cached, a failure for what is not. An error that says nothing new is not told
// again.
//
// # Servers
//
// An authority has an ordered list of servers, and listens to one (gRFC A71; package
// fallback decides which). When it falls back, everything that is watched is asked for
// again from the next server; with the first response of an earlier one, the later
// ones are let go. What only another server had must come from the one in use within
// the time of the does-not-exist timer.
//
// # Collections
//
// A watched wildcard or glob collection (TP1) makes its members known without their
// being watched by name. They are cached like others, come and go by what the control
// plane says, and are not kept in use when it removes them: being listed is all there
// is to being a member.
//
// # Timers
//
// A resource that was asked for and does not come within 15 s does not exist
// (gRFC A57; 30 s, and a timeout, under resource_timer_is_transient_error). The timer
// runs only while a stream is up, and only for resources that are not cached. It pauses
// while a response arrives or is decoded ([Pause]). If the server sent nothing at all in
// that time, the resource is still a reason to fall back. A resource with a time to live is
// dropped when that ends without a heartbeat.
package authority
