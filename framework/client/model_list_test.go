package client_test

import (
	"slices"
	"strconv"
	"strings"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// A modelList is a list collection (TP1). One server holds it.
type modelList struct {
	key    modelKey // its type is that of the members
	server int
	now    modelEntries
	// maybe has the valid versions of the list that the client may be using: the last version
	// that it used at rest, and all later versions.
	maybe []modelEntries
}

// modelEntries are a version of a list: the entries, or why there are none.
type modelEntries struct {
	// members has the value of each inline entry, and "" for each located member.
	members map[modelKey]string
	kind    modelKind // noError: the version is valid
}

// listType returns the type URL of a list.
func (l *modelList) listType() string { return "type.googleapis.com/" + l.key.typ.Collection }

// locates reports whether the client may watch a resource as a located member of the list.
func (l *modelList) locates(k modelKey) bool {
	return slices.ContainsFunc(l.maybe, func(e modelEntries) bool { return e.locates(k) })
}

func (e modelEntries) locates(k modelKey) bool {
	value, ok := e.members[k]
	return ok && value == ""
}

// modelLists returns the lists of a layout. They are not there at first.
func modelLists(layout modelLayout) (lists []*modelList) {
	for _, authority := range layout.lists {
		for _, typ := range modelTypes {
			lists = append(lists, &modelList{
				key:    modelKey{typ, authority, xdstpName(authority, typ.Collection, "l")},
				server: layout.authorities[authority][0], now: modelEntries{kind: isNotFound},
			})
		}
	}
	return lists
}

// modelListMoves are the steps about lists, each with its weight.
var modelListMoves = []modelMove{
	{10, (*modelWorld).collect},
	{6, (*modelWorld).scatter},
	{20, func(w *modelWorld) { w.putList(w.anyList(), w.goodList) }},
	{6, func(w *modelWorld) { w.putList(w.anyList(), w.badList) }},
	{4, func(w *modelWorld) { w.putList(w.anyList(), w.noList) }},
}

func (w *modelWorld) anyList() *modelList { return w.lists[w.rng.IntN(len(w.lists))] }

// moveList takes a step about lists at times, and reports whether it did.
func (w *modelWorld) moveList() bool {
	if len(w.lists) == 0 || w.rng.IntN(2) == 0 {
		return false
	}
	w.anyMove(modelListMoves)(w)
	return true
}

// goodList returns a valid version of a list, in bytes too.
func (w *modelWorld) goodList(l *modelList) (e modelEntries, body []byte) {
	e.members = make(map[modelKey]string)
	for _, k := range w.keys {
		if k.typ != l.key.typ {
			continue
		}
		switch n := w.rng.IntN(4); {
		case n < 2:
			e.members[k] = ""
			body = appendEntry(body, locator(k, k.typ.Name))
		case n == 2 && k.authority == l.key.authority:
			w.values++
			e.members[k] = "v" + strconv.Itoa(w.values)
			body = appendEntry(body, inlined("", k.typ.URL(), k.name+"|"+e.members[k]))
		}
	}
	if w.rng.IntN(3) == 0 { // a member without a name of its own
		w.values++
		k := modelKey{l.key.typ, l.key.authority, xdstpName(l.key.authority, l.key.typ.Name, "l/x")}
		e.members[k] = "v" + strconv.Itoa(w.values)
		body = appendEntry(body, inlined("x", k.typ.URL(), "|"+e.members[k]))
	}
	return e, body
}

// badList returns a version of a list with one invalid entry.
func (w *modelWorld) badList(l *modelList) (modelEntries, []byte) {
	_, body := w.goodList(l)
	w.values++
	typ, value := l.key.typ, strconv.Itoa(w.values)
	k := modelKey{typ, l.key.authority, xdstpName(l.key.authority, typ.Name, "y")}
	body = appendEntry(body, locator(k, typ.Name))
	bad := []*xdscorev3.CollectionEntry{
		inlined("y", typ.URL(), "|bad"+value),
		inlined("y", "type.googleapis.com/model.Other", "|v"+value),
		inlined("y", typ.URL(), xdstpName("other.example", typ.Name, "a")+"|v"+value),
		locator(l.key, typ.Collection),
		inlined("", typ.URL(), k.name+"|v"+value), // of a name that is located, too
		{},
	}
	return modelEntries{kind: isInvalid}, appendEntry(body, bad[w.rng.IntN(len(bad))])
}

// noList returns the absence of a list: an error in its place, if the control planes send errors.
func (w *modelWorld) noList(*modelList) (modelEntries, []byte) {
	if c := w.trouble(); c.code != 0 && w.rng.IntN(2) == 0 {
		return modelEntries{kind: c.kind()}, nil
	}
	return modelEntries{kind: isNotFound}, nil
}

// locator is an entry that locates a resource.
func locator(k modelKey, typ string) *xdscorev3.CollectionEntry {
	id := k.name[strings.LastIndexByte(k.name, '/')+1:]
	return &xdscorev3.CollectionEntry{ResourceSpecifier: &xdscorev3.CollectionEntry_Locator{Locator: &xdscorev3.ResourceLocator{
		Authority: k.authority, ResourceType: typ, Id: id,
	}}}
}

// inlined is an entry with a resource.
func inlined(entry, typeURL, body string) *xdscorev3.CollectionEntry {
	return &xdscorev3.CollectionEntry{ResourceSpecifier: &xdscorev3.CollectionEntry_InlineEntry_{InlineEntry: &xdscorev3.CollectionEntry_InlineEntry{
		Name: entry, Resource: &anypb.Any{TypeUrl: typeURL, Value: []byte(body)},
	}}}
}

// appendEntry appends an entry to the encoded message of a list.
func appendEntry(b []byte, e *xdscorev3.CollectionEntry) []byte {
	raw, err := proto.Marshal(e)
	if err != nil {
		panic(err)
	}
	return protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), raw)
}

// putList changes a list.
func (w *modelWorld) putList(l *modelList, version func(*modelList) (modelEntries, []byte)) {
	e, body := version(l)
	w.relist(l, func() {
		if l.now = e; e.kind == noError {
			l.maybe = append(l.maybe, e)
		}
	})
	w.told("server %d: list %s: %s", l.server, l.key.name, e)
	s, url := w.servers[l.server], l.listType()
	switch {
	case e.kind == noError || e.kind == isInvalid:
		s.Set(url, memoryads.Resource{Name: l.key.name, Body: body, Wrapped: true})
	case e.kind != isNotFound:
		s.Set(url, memoryads.Resource{Name: l.key.name, Error: &rpcstatus.Status{Code: codeOf(e.kind), Message: "no"}})
	default:
		s.Delete(url, l.key.name)
	}
}

// codeOf is the status code of an error that a control plane sends.
func codeOf(kind modelKind) int32 {
	for code, k := range modelCodes {
		if k == kind {
			return code
		}
	}
	return 0
}

// String lists the members in order.
func (e modelEntries) String() string {
	if e.kind != noError {
		return string(e.kind)
	}
	all := make([]string, 0, len(e.members))
	for k, value := range e.members {
		all = append(all, k.name+"="+value)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// relist changes a list. The client may drop or take every member that the list locates before
// or after the change.
func (w *modelWorld) relist(l *modelList, change func()) {
	mark := func() {
		for _, k := range w.keys {
			if l.locates(k) {
				w.dropped[k], w.retaken[k], w.left[k], w.named[k] = true, true, true, true
				for _, i := range w.column.layout.authorities[k.authority] {
					w.servers[i].Watched(k.typ.URL(), k.name)
				}
			}
		}
	}
	mark()
	change()
	mark()
}
