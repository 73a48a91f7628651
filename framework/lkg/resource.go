package lkg

import (
	"time"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// An Authority identifies the resources of one authority.
type Authority struct {
	Name     string // decoded; empty for old-style names and for the empty authority
	OldStyle bool   // all old-style names
}

// String returns the name for logs.
func (a Authority) String() string {
	if a.OldStyle {
		return "#old"
	}
	return "xdstp://" + xdstp.EncodeAuthority(a.Name)
}

// A Node identifies the owner of a directory: the node of the bootstrap.
type Node struct {
	ID      string `json:"id,omitzero"`
	Cluster string `json:"cluster,omitzero"`
}

// A Resource is a resource that a client has in use, or a collection whose members it has in use.
// Nobody may change it.
type Resource struct {
	Type string // full name of the message
	Name string // canonical, as it is watched
	// AliasOf is the name of the resource itself if Name is an alias; otherwise empty.
	AliasOf string
	// Collection marks a wildcard or a glob, which has no body. Its members are resources.
	Collection bool
	Version    string
	Server     string // the key of the server that sent it
	Body       []byte
	Expires    time.Time // the end of its time to live; zero: none
	// Confirmed is when a server last confirmed the resource. The store sets it.
	Confirmed time.Time
}

// size is the approximate size of the resource in a file.
func (r *Resource) size() int64 {
	return int64(len(r.Name) + len(r.AliasOf) + len(r.Version) + len(r.Body) + recordOverhead)
}

// recordOverhead is about the size of the lengths and times of a record.
const recordOverhead = 24

// An Op is the kind of a [Change].
type Op uint8

// The kinds of changes.
const (
	// Put means that a client uses the resource, which came from a server.
	Put Op = iota
	// Delete means that the control plane does not have the resource any more, or denies access.
	Delete
	// Release means that a client no longer watches the resource. The store keeps it.
	Release
)

// A Change is a change of the resources that a client uses. Delete and Release need only type and
// name.
type Change struct {
	Op Op
	Resource
}
