package routes

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// Values has the parts of a request that hash policies read.
type Values interface {
	// Value returns the value that a policy hashes. It returns false if the request does not have it. Policies without a
	// header, which hash by channel, do not need it.
	Value(p *route.HashPolicy) (string, bool)
}

// Hashed returns the call with its hash, if the policies make one (A42). id is the hash of policies that hash by channel.
func Hashed(policies []route.HashPolicy, id uint64, call *lbtree.Call, v Values) *lbtree.Call {
	h, ok := Hash(policies, id, v)
	if !ok {
		return call
	}
	with := *call
	with.Hash, with.HasHash = h, true
	return &with
}

// Hash combines the hashes of the policies, as Envoy does. It stops after a terminal policy once there is a hash.
func Hash(policies []route.HashPolicy, id uint64, v Values) (hash uint64, ok bool) {
	for i := range policies {
		p := &policies[i]
		if one, made := hashOne(p, id, v); made {
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

func hashOne(p *route.HashPolicy, id uint64, v Values) (hash uint64, ok bool) {
	if p.Header == "" && p.Kind == route.HashHeader {
		return id, true
	}
	value, ok := v.Value(p)
	if !ok {
		return 0, false
	}
	if p.Regex != nil {
		value = p.Regex.ReplaceAllString(value, p.Substitution)
	}
	return xxhash.Sum64String(value), true
}
