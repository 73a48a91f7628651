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
// # Timers
//
// A resource that was asked for and does not come within 15 s does not exist
// (gRFC A57; 30 s, and a timeout, under resource_timer_is_transient_error). The
// time runs only while a stream is up and only for what is not cached.
package authority
