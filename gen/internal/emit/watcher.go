package emit

import (
	"strings"

	"github.com/dave/jennifer/jen"
)

// watcher writes the typed functions that use a client. They call the handle of the type.
func (e *emitter) watcher() []jen.Code {
	short := string(e.pkg.Message.Desc.Name())
	call := func(fn, doc, params, results, args string) jen.Code {
		return e.documented(doc, "func "+fn+"("+params+") "+results+" {\nreturn typ."+fn+"("+args+")\n}")
	}
	const client, withContext = "c resource.Client, name string", "ctx context.Context, c resource.Client, name string"
	out := []jen.Code{
		e.documented("An Event is the state of one "+short+" at one moment. See [resource.Event].", "type Event = resource.Event[*Update]"),
		call("Watch", "Watch yields an event for each change of the named "+short+" until ctx ends.", withContext, "iter.Seq[Event]", "ctx, c, name"),
		call("Subscribe", "Subscribe calls f for each change of the named "+short+" until stop is called. Calls of f never overlap.",
			client+", f func(Event)", "(stop func(), err error)", "c, name, f"),
		call("Get", "Get waits for the first event of the named "+short+" and returns its Update and its Err.", withContext, "(*Update, error)", "ctx, c, name"),
		call("Lookup", "Lookup returns the cached update of a name. It does not subscribe.", client, "(*Update, bool)", "c, name"),
	}
	if p := e.pkg; p.Wildcard || p.Globs || p.Collected != "" {
		out = append(out,
			e.documented("A MemberEvent is the state of one member of a collection. See [resource.MemberEvent].", "type MemberEvent = resource.MemberEvent[*Update]"),
			call("WatchCollection", "WatchCollection yields an event for each change of a member of a collection. The name is "+e.collections()+".",
				withContext, "iter.Seq[MemberEvent]", "ctx, c, name"))
	}
	return out
}

// collections describes the collections of the type.
func (e *emitter) collections() string {
	var out []string
	if e.pkg.Wildcard {
		out = append(out, "\"*\" for all resources of the control plane")
	}
	if e.pkg.Globs {
		out = append(out, "an xdstp name that ends in \"/*\"")
	}
	if e.pkg.Collected != "" {
		out = append(out, "the xdstp name of one "+e.pkg.Collected)
	}
	return strings.Join(out, ", or ")
}
