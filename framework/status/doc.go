// Package status describes the state of a client at one moment: its servers, its authorities, its
// resources and their watchers.
//
// The client takes a [Snapshot]. The snapshot shares no mutable state with the client. Programs may
// keep, compare and present it: as CSDS (gRFC A40), as metrics (gRFC A78), or on a page for
// operators.
//
// The client also keeps its last [MaxEvents] events, such as a lost stream or a rejected response. An
// [Event] is a change between two snapshots.
package status
