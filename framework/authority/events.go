package authority

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// An Event is something that happened to the authority's resources.
type Event interface{ event() }

// A Watcher is whoever wants to be told of a resource. The machine only
// remembers it and names it in Notify effects.
type Watcher interface {
	// Notify takes the newest state. It must return at once.
	Notify(s resource.State)
}

type (
	// Watch adds a watcher of a resource. What is known is told at once.
	Watch struct {
		Type    *resource.Type
		Name    xdstp.Name
		Watcher Watcher
	}
	// Cancel removes it again.
	Cancel struct {
		Type    *resource.Type
		Name    xdstp.Name
		Watcher Watcher
	}
	// Asked says that the names have left on the current stream.
	Asked struct {
		Type  *resource.Type
		Names []string
	}
	// Response brings what a response said of this authority's resources.
	Response struct {
		Type    *resource.Type
		Results []Result
		// Unnamed says that there are resources whose names cannot be read. What
		// is missing from Results may be one of them.
		Unnamed bool
	}
	// Lost says that the stream is gone; Err, when it is not nil, that the
	// control plane cannot be reached.
	Lost struct{ Err error }
	// Healthy says that the control plane can be reached.
	Healthy struct{}
	// Idle says that nobody has asked the control plane for anything lately, so
	// that nothing is known of whether it can be reached.
	Idle struct{}
	// Tick says that the time of NextDeadline has come.
	Tick struct{}
)

// A Result is one resource of a response: valid with an Update, or rejected
// with an Err.
type Result struct {
	Name   xdstp.Name
	Update resource.Update
	Err    error
}

func (Watch) event()    {}
func (Cancel) event()   {}
func (Asked) event()    {}
func (Response) event() {}
func (Lost) event()     {}
func (Healthy) event()  {}
func (Idle) event()     {}
func (Tick) event()     {}

// An Effect is something to do, in the order given.
type Effect interface{ effect() }

type (
	// Subscribe to a resource at the authority's server.
	Subscribe struct {
		Type *resource.Type
		Name string
	}
	// Unsubscribe from it: nobody watches it any longer.
	Unsubscribe struct {
		Type *resource.Type
		Name string
	}
	// Notify a watcher.
	Notify struct {
		Watcher Watcher
		State   resource.State
	}
)

func (Subscribe) effect()   {}
func (Unsubscribe) effect() {}
func (Notify) effect()      {}
