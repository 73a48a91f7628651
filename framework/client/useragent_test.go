package client

import (
	"runtime/debug"
	"testing"
)

// The version in the node is the module's version in the program.
func TestUserAgentVersion(t *testing.T) {
	for name, tt := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"a dependency":         {debug.BuildInfo{Main: debug.Module{Path: "example.com/shop", Version: "v2.0.0"}, Deps: []*debug.Module{{Path: module, Version: "v1.4.0"}}}, "v1.4.0"},
		"the main module":      {debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"}}, "(devel)"},
		"replaced by a fork":   {debug.BuildInfo{Deps: []*debug.Module{{Path: module, Version: "v1.4.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.4.1"}}}}, "v1.4.1"},
		"replaced by a folder": {debug.BuildInfo{Deps: []*debug.Module{{Path: module, Version: "v1.4.0", Replace: &debug.Module{Path: "../xdsforge"}}}}, "v1.4.0"},
		"without versions":     {debug.BuildInfo{Main: debug.Module{Path: "example.com/shop"}}, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := versionOf(&tt.info); got != tt.want {
				t.Errorf("version = %q, want %q", got, tt.want)
			}
		})
	}
	info, ok := debug.ReadBuildInfo()
	if got := userAgentVersion(); !ok || got != versionOf(info) {
		t.Errorf("the running test has the version %q, want that of its build information", got)
	}
}
