package source

import "context"

// A Source has resources. Its methods may be called from any goroutine.
type Source interface {
	// Open starts a session, which reports to sink until ctx ends. It does not wait for resources.
	// It fails only if the Source can never work, for example because its directory is no
	// directory. The session reports all other trouble as its State.
	Open(ctx context.Context, sink Sink) (Session, error)
}

// A Session is the use of a Source by one reader. Its methods may be called from any goroutine.
// They do not call the sink and do not wait for it.
type Session interface {
	// Want drops and then adds interests. Adding an interest that is already there has no effect. An
	// interest that was dropped and added again starts anew: its resources are reported again. The
	// session reports no more than it must: the reader forgets resources that belong to no interest.
	// A Source that has all of its resources in memory can fill a [Memory] and open sessions of that.
	Want(add, drop []Interest)
	// Report tells the Source that a client has rejected resources.
	Report(Rejection)
}

// A Sink receives the resources of one session. A session calls its methods one at a time, from one
// goroutine.
type Sink interface {
	// Apply applies a change. It may block, which holds the session back. An error means that the
	// sink is closed or that the change is invalid. The session ends then.
	Apply(Change) error
	// State reports how current the resources are. A session reports its first state before its
	// first change, and afterwards each state that is new.
	State(State)
}

// Names of interests with more than one resource.
const (
	// Wildcard stands for all resources of a type that have an old-style name.
	Wildcard = "*"
	// Everything stands for all resources of a type. With an empty type, it stands for all resources
	// of the Source.
	Everything = ""
)

// An Interest is a subscription of a reader: to a resource by its name or alias, to a glob
// collection of xRFC TP1, to [Wildcard], or to [Everything]. A list collection is a resource with a
// type of its own.
type Interest struct {
	Type string // type URL
	Name string // canonical
}

// A Rejection is the NACK of a client.
type Rejection struct {
	Type    string   // type URL
	Names   []string // resources of the rejected response; nil if they are not known
	Version string   // of the rejected response
	Text    string   // the client's reason. A client is not trusted: escape it before printing.
	Node    string   // id of the client's node
}
