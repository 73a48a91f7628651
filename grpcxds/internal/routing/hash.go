package routing

import (
	"math/bits"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// hashed returns the call with its hash, if the policies make one (A42). id is the hash of policies
// that hash by channel.
func hashed(policies []route.HashPolicy, id uint64, call *lbtree.Call, headers route.Metadata) *lbtree.Call {
	h, ok := hashOf(policies, id, headers)
	if !ok {
		return call
	}
	with := *call
	with.Hash, with.HasHash = h, true
	return &with
}

// hashOf combines the hashes of the policies, as Envoy does. It stops after a terminal policy once
// there is a hash.
func hashOf(policies []route.HashPolicy, id uint64, headers route.Metadata) (hash uint64, ok bool) {
	for i := range policies {
		p := &policies[i]
		if one, made := hashOne(p, id, headers); made {
			if ok {
				one ^= bits.RotateLeft64(hash, 1)
			}
			hash, ok = one, true
		}
		if ok && p.Terminal {
			break
		}
	}
	return hash, ok
}

func hashOne(p *route.HashPolicy, id uint64, headers route.Metadata) (hash uint64, ok bool) {
	if p.Header == "" {
		return id, true
	}
	value, ok := headerValue(p.Header, headers)
	if !ok {
		return 0, false
	}
	if p.Regex != nil {
		value = p.Regex.ReplaceAllString(value, p.Substitution)
	}
	return xxhash.Sum64String(value), true
}

// headerValue returns the value of a header that A28 lets a channel see. It excludes binary
// headers, and includes the content type that gRPC sends.
func headerValue(name string, headers route.Metadata) (string, bool) {
	if strings.HasSuffix(name, "-bin") {
		return "", false
	}
	switch values := headers.Values(name); {
	case len(values) == 1:
		return values[0], true
	case len(values) > 1:
		return strings.Join(values, ","), true
	}
	return "application/grpc", name == "content-type"
}
