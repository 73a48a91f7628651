package main

import (
	"slices"
	"strings"
)

// A class is how far the promise of compatibility goes for a name.
type class uint8

const (
	promised class = iota // covered by the promise of compatibility
	exempt                // exported for this module, or still experimental
	extra                 // a resource type outside the promise
	hidden                // nobody outside imports it: internal, commands, examples, test data
)

// heading is the title of a class in the list.
func (c class) heading() string {
	switch c {
	case promised:
		return "Under the promise"
	case exempt:
		return "Outside the promise"
	case extra:
		return "Extra resource types, outside the promise"
	default:
		return "Hidden"
	}
}

// extraTypes are the packages of resource types outside the promise.
func extraTypes() []string {
	return []string{
		"plugins/extension", "plugins/lbendpoint", "plugins/runtimelayer",
		"plugins/scopedroute", "plugins/secret", "plugins/virtualhost",
	}
}

// exemptTrees are packages outside the promise, with all packages below them.
func exemptTrees() []string {
	return []string{
		"framework/client", "framework/lkg", "framework/runtime", "framework/source", "grpcxds/httpfilter", "httpxds",
		"plugins/httpfilter/cors", "plugins/httpfilter/headermutation", "plugins/httpfilter/localratelimit", "publish", "relay", "serve",
	}
}

// exemptNames are single names outside the promise.
func exemptNames() []string {
	seams := []string{
		"Source", "Base", "NewBase", "Descriptor", "Describe", "Observation", "CollectionObservation", "CollectionState", "MemberState",
	}
	names := make([]string, 0, 21)
	for _, name := range seams {
		names = append(names, "framework/resource."+name)
	}
	for _, plugin := range []string{"cluster", "endpoint", "listener", "route"} {
		for _, name := range []string{"Put", "Delete", "AddTo"} { // they have types of package publish
			names = append(names, "plugins/"+plugin+"."+name)
		}
	}
	return names
}

// classify returns the class of an exported name. The package's path is relative to the
// module; that of the root package is empty.
func classify(path, name string) class {
	elements := strings.Split(path, "/")
	switch {
	case slices.Contains(elements, "internal"), slices.Contains([]string{"cmd", "examples", "tools"}, elements[0]),
		strings.HasPrefix(path, "gen/outputtest/"):
		return hidden
	case slices.Contains(extraTypes(), path):
		return extra
	case slices.Contains(exemptNames(), path+"."+name):
		return exempt
	}
	for _, tree := range exemptTrees() {
		if path == tree || strings.HasPrefix(path, tree+"/") {
			return exempt
		}
	}
	return promised
}
