package routing

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// plan returns the plan of a call. The error is a gRPC status.
func (t *Table) plan(ctx context.Context, method string, h *headers) (*plan, error) {
	var seen route.Headers
	if t.headers {
		seen = h.get(ctx)
	}
	r := t.config.VirtualHost.Match(method, seen)
	if r == nil {
		err := t.trouble(fmt.Sprintf("no route of virtual host %s takes %s", label(t.config.VirtualHost.Name), method))
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return t.plans[r], nil
}

// info returns the routing decisions of a call for the pickers.
func (p *plan) info(ctx context.Context, to *target, h *headers) *lbtree.Call {
	if len(p.hash) == 0 {
		return to.call
	}
	return hashed(p.hash, p.id, to.call, h.get(ctx))
}

// choose returns one of the targets, by weight.
func (p *plan) choose() *target {
	if len(p.targets) == 1 {
		return &p.targets[0]
	}
	at := rand.Uint32N(p.total)
	i := slices.IndexFunc(p.targets, func(t target) bool {
		if at < t.weight {
			return true
		}
		at -= t.weight
		return false
	})
	return &p.targets[i]
}

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

// Pick routes a call in the picker if no interceptor of a [Interceptors] has routed it, as in channels
// that have only the resolver. Timeouts and retries cannot be applied then. The call fails if HTTP
// filters must run, because filters such as those for security must not be skipped. The caller
// calls release when the call has ended or was not sent.
func (t *Table) Pick(ctx context.Context, method string) (call *lbtree.Call, release func(), err error) {
	var headers headers
	p, err := t.plan(ctx, method, &headers)
	if err != nil {
		return nil, nil, err
	}
	if p.err != nil {
		return nil, nil, status.Error(codes.Unavailable, p.err.Error())
	}
	to := p.choose()
	switch {
	case !to.chain.Idle():
		err = t.trouble("HTTP filters need the interceptors of grpcxds.DialOptions")
		return nil, nil, status.Error(codes.Unavailable, err.Error())
	case !to.ref.acquire():
		return nil, nil, balancer.ErrNoSubConnAvailable // there is a newer picker
	}
	return p.info(ctx, to, &headers), to.ref.drop, nil
}

// Unroutable replaces [Table.Pick] while there is no table, for the given reason. Calls fail, or
// wait if they set WaitForReady. The reason becomes text, so that a control plane's status does not
// become the status of a call (A54).
func Unroutable(reason error) func(context.Context, string) (*lbtree.Call, func(), error) {
	err := errors.New(reason.Error())
	return func(context.Context, string) (*lbtree.Call, func(), error) { return nil, nil, err }
}
