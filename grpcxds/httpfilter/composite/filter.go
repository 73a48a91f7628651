package composite

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/composite"
)

// Filter returns the filter. An override replaces the matcher.
func Filter() *httpfilter.Filter {
	return &httpfilter.Filter{
		HTTPFilter: config.Filter(),
		NewClient: func(h httpfilter.Host) (httpfilter.ClientInstance, error) {
			return &clientInstance{host: h, random: rand.Uint32N}, nil
		},
		NewServer: func(h httpfilter.Host) (httpfilter.ServerInstance, error) {
			return &serverInstance{host: h, random: rand.Uint32N}, nil
		},
	}
}

// merge returns the configuration of a route.
func merge(c, override any) (config.Config, error) {
	if override != nil {
		c = override
	}
	out, ok := c.(config.Config)
	switch {
	case !ok:
		return out, fmt.Errorf("composite: the configuration is a %T; must be one that the filter has read", c)
	case out.Unread:
		return out, errUnread
	}
	return out, nil
}

var errUnread = errors.New("composite: the matcher was not decoded; must be in the field xds_matcher, and not in profile Envoy")

// perMillion is a share of all calls.
const perMillion = 1_000_000

var errNoMatch = status.Error(codes.Unavailable, "composite: the matcher has no match for the call")

// A chooser chooses the interceptors of type I for calls.
type chooser[I any] struct {
	tree    *matchtree.Tree[int]
	actions []action[I]
	random  func(n uint32) uint32 // returns a random number below n
	end     func()
}

// An action has the interceptors of an action.
type action[I any] struct {
	run        []I
	err        error // the status of the calls, if a filter cannot run
	perMillion uint32
}

// choose returns the interceptors of a call. The error is the status of a call that fails.
func (c *chooser[I]) choose(call *matchtree.Call) ([]I, error) {
	i, ok := c.tree.Find(call)
	if !ok {
		return nil, errNoMatch
	}
	a := &c.actions[i]
	if a.perMillion < perMillion && c.random(perMillion) >= a.perMillion {
		return nil, nil
	}
	return a.run, a.err
}

// Close closes the interceptors, and the instances that no other configuration uses. The last call has ended.
func (c *chooser[I]) Close() error {
	c.end()
	return nil
}
