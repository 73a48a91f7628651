package routing

import (
	"math/bits"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/xdsforge/xdsforge/grpcxds/internal/rpcinfo"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// hashed is a call with the hash that the policies make, if they make one (A42). The
// channel's id is the one that all its calls have.
func hashed(policies []route.HashPolicy, id uint64, call *rpcinfo.Call, headers route.Metadata) *rpcinfo.Call {
	h, ok := hashOf(policies, id, headers)
	if !ok {
		return call
	}
	with := *call
	with.Hash, with.HasHash = h, true
	return &with
}

// hashOf combines what the policies make, as Envoy does, until a terminal one that is not
// the first to make something.
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

// headerValue is what A28 lets a channel see of a header: no binary ones, and the content
// type that gRPC sends.
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
