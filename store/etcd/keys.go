package etcd

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// keys are the keys of a tenant.
type keys struct {
	resources      string // prefix
	watched, end   string // range of everything that readers watch; it contains the resources
	generation     string
	epoch          string
	batch          string
	chunks         string // prefix
	endOfResources string
	endOfChunks    string
}

func keysOf(tenant string) keys {
	root := "/xds/" + url.PathEscape(tenant) + "/"
	return keys{
		resources: root + "r/", endOfResources: root + "r0", // '0' follows '/'
		watched: root + "m/", end: root + "r0",
		generation: root + "m/generation", epoch: root + "m/epoch", batch: root + "m/batch",
		chunks: root + "b/", endOfChunks: root + "b0",
	}
}

// resource returns the key of a resource.
func (k *keys) resource(r source.Key) string { return k.resources + r.Type + "/" + r.Name }

// parse returns the resource of a key below resources.
func (k *keys) parse(key []byte) (r source.Key, ok bool) {
	rest, ok := strings.CutPrefix(string(key), k.resources)
	if !ok {
		return r, false
	}
	return split(rest)
}

// split returns the resource of "TYPE URL/NAME". A type URL has exactly one '/'.
func split(s string) (r source.Key, ok bool) {
	host := strings.IndexByte(s, '/')
	if host < 0 {
		return r, false
	}
	message := strings.IndexByte(s[host+1:], '/')
	if message < 0 {
		return r, false
	}
	end := host + 1 + message
	return source.Key{Type: s[:end], Name: s[end+1:]}, true
}

// checkType reports a type whose keys would be ambiguous.
func checkType(k source.Key) error {
	if strings.Count(k.Type, "/") != 1 {
		return fmt.Errorf("etcd: type = %s; must have exactly one '/'", printable.Quote(k.Type, printable.Short))
	}
	return nil
}
