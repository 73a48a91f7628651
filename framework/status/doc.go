// Package status is what a client knows of itself at one moment: its servers, its
// authorities, its resources and who watches them.
//
// A [Snapshot] is taken by the client, shares nothing with it that changes, and
// may be kept, compared and presented: as CSDS (gRFC A40), as metrics (gRFC A78), on a
// page for operators.
package status
