package client

import (
	"runtime/debug"
	"sync"
)

const (
	userAgent = "xdsforge" // user_agent_name of the node
	module    = "github.com/xdsforge/xdsforge"
	unknown   = "unknown" // the version of a program without build information
)

// userAgentVersion returns the version of this module in the running program: a tag, a
// pseudo-version, or "(devel)" for a build in its own checkout.
var userAgentVersion = sync.OnceValue(func() string { //nolint:gochecknoglobals // read once: it cannot change
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	return versionOf(info)
})

// versionOf finds the version in build information, by go.mod's replace directive if there is one.
func versionOf(info *debug.BuildInfo) string {
	modules := append([]*debug.Module{&info.Main}, info.Deps...)
	for _, m := range modules {
		if m.Path != module {
			continue
		}
		if m.Replace != nil && m.Replace.Version != "" {
			m = m.Replace
		}
		if m.Version != "" {
			return m.Version
		}
	}
	return unknown
}
