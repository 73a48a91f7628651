package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/net/http/httpguts"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/extensions/lbpolicy"
)

// A ring is a circle of hashes. Each entry leads to an endpoint. It is immutable.
type ring []ringEntry

type ringEntry struct {
	hash uint64
	at   int // the endpoint's index
}

// A spot has the key and weight that place an endpoint on a ring.
type spot struct {
	key    string
	weight uint32
}

// sorted returns the indexes of spots in the order of their keys, and of their weights if keys are equal. last is the order of earlier spots.
// It speeds up sorting if few have changed.
func sorted(spots []spot, last []int) []int {
	order := slices.Clone(last)
	if len(last) != len(spots) {
		order = make([]int, len(spots))
		for i := range order {
			order[i] = i
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		if c := cmp.Compare(spots[a].key, spots[b].key); c != 0 {
			return c
		}
		return cmp.Compare(spots[a].weight, spots[b].weight)
	})
	return order
}

// newRing distributes endpoints over a ring, as Envoy does. Each has a share of the entries by
// weight. The endpoint with the least weight has a whole number of entries if the size allows it.
// The order is that of the keys, so that all clients have the same ring.
func newRing(spots []spot, order []int, minSize, maxSize uint64) ring {
	var sum, least uint64
	for i, s := range spots {
		sum += uint64(s.weight)
		if w := uint64(s.weight); i == 0 || w < least {
			least = w
		}
	}
	smallest := float64(least) / float64(sum)
	scale := math.Min(math.Ceil(smallest*float64(minSize))/smallest, float64(maxSize))
	r := make(ring, 0, int(math.Ceil(scale)))
	var wanted, have float64
	var key []byte
	for _, i := range order {
		wanted += scale * float64(spots[i].weight) / float64(sum)
		if have >= wanted {
			continue
		}
		key = append(append(key[:0], spots[i].key...), '_')
		prefix := len(key)
		for n := int64(0); have < wanted; n++ {
			key = strconv.AppendInt(key[:prefix], n, 10)
			r = append(r, ringEntry{xxhash.Sum64(key), i})
			have++
		}
	}
	slices.SortFunc(r, func(a, b ringEntry) int {
		if a.hash != b.hash { // almost always
			return cmp.Compare(a.hash, b.hash)
		}
		return cmp.Or(cmp.Compare(spots[a.at].key, spots[b.at].key), cmp.Compare(a.at, b.at))
	})
	return r
}

// find returns the index of the first entry that is not before a hash.
func (r ring) find(hash uint64) int {
	i := sort.Search(len(r), func(i int) bool { return r[i].hash >= hash })
	if i == len(r) {
		return 0
	}
	return i
}

// ringSizeCap is the cap of both sizes, unless the program sets another (A42).
const ringSizeCap = 4096

// A ringConfig is the configuration of ring_hash.
type ringConfig struct {
	MinSize uint64 `json:"minRingSize"`
	MaxSize uint64 `json:"maxRingSize"`
	// Header is the header to hash, instead of the hash of the call's route (A76).
	Header string `json:"requestHashHeader"`
}

// parseRing reads a configuration. It lowers sizes above the cap to the cap.
func parseRing(text string, most uint64) (ringConfig, error) {
	if most == 0 {
		most = ringSizeCap
	}
	c := ringConfig{MinSize: lbpolicy.MinRingSize, MaxSize: most}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return ringConfig{}, fmt.Errorf("ring_hash: %w", err)
	}
	if c.MinSize == 0 { // not set
		c.MinSize = lbpolicy.MinRingSize
	}
	switch {
	case c.MinSize > lbpolicy.MaxRingSize || c.MaxSize > lbpolicy.MaxRingSize:
		return ringConfig{}, fmt.Errorf("ring_hash: sizes %d to %d; must be at most %d (A42)", c.MinSize, c.MaxSize, lbpolicy.MaxRingSize)
	case c.MinSize > c.MaxSize:
		return ringConfig{}, fmt.Errorf("ring_hash: minRingSize = %d; must be at most maxRingSize, which is %d", c.MinSize, c.MaxSize)
	}
	c.MinSize, c.MaxSize = min(c.MinSize, most), min(c.MaxSize, most)
	c.Header = strings.ToLower(c.Header)
	if c.Header == "" {
		return c, nil
	}
	if !httpguts.ValidHeaderFieldName(c.Header) {
		return ringConfig{}, fmt.Errorf("ring_hash: requestHashHeader = %q; must be a header (A76)", c.Header)
	}
	if strings.HasSuffix(c.Header, "-bin") {
		return ringConfig{}, errors.New("ring_hash: requestHashHeader must not be binary (A76)")
	}
	return c, nil
}

// A ringPicker is a ring and its endpoints, whose states change. The fields below header were true
// when it was made. There is a newer picker as soon as they are not.
type ringPicker struct {
	ring      ring
	endpoints []*ringEndpoint
	header    string
	// connecting says that an endpoint is connecting.
	connecting bool
	// hopeless says that all endpoints have failed.
	hopeless bool
}

// A ringEndpoint has the newest state of an endpoint.
type ringEndpoint struct{ now atomic.Pointer[ringState] }

// A ringState is the state of an endpoint at one time. It is immutable.
type ringState struct {
	state     connectivity.State
	picker    balancer.Picker
	connector *connector
}

// A connector connects an idle endpoint, once.
type connector struct {
	requested atomic.Bool
	start     func()
}

func (c *connector) request() {
	if !c.requested.Load() && c.requested.CompareAndSwap(false, true) {
		c.start()
	}
}

// Pick finds the endpoint of a call's hash, or the next endpoint on the ring that has not failed
// (A61). An idle endpoint is connected, and the call waits for it.
func (p *ringPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	hash, ok := p.hash(info)
	if !ok {
		return p.pickWithoutHash(info)
	}
	first := p.ring.find(hash)
	if p.hopeless {
		return p.state(first, 0).picker.Pick(info)
	}
	for i := range p.ring {
		e := p.state(first, i)
		switch e.state {
		case connectivity.Ready:
			return e.picker.Pick(info)
		case connectivity.Idle:
			e.connector.request()
			return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
		case connectivity.Connecting:
			return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
		default:
		}
	}
	return p.state(first, 0).picker.Pick(info)
}

// pickWithoutHash picks for a call without a hash. It returns the first ready endpoint after a random point on
// the ring. If no endpoint is connecting, it connects the first idle one on the way (A76).
func (p *ringPicker) pickWithoutHash(info balancer.PickInfo) (balancer.PickResult, error) {
	first := p.ring.find(rand.Uint64())
	connecting := p.connecting
	for i := range p.ring {
		if p.hopeless {
			break
		}
		e := p.state(first, i)
		switch {
		case e.state == connectivity.Ready:
			return e.picker.Pick(info)
		case e.state == connectivity.Idle && !connecting:
			e.connector.request()
			connecting = true
		}
	}
	if connecting {
		return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
	}
	return p.state(first, 0).picker.Pick(info)
}

// state returns the state of the endpoint that is i entries after the first.
func (p *ringPicker) state(first, i int) *ringState {
	if i += first; i >= len(p.ring) {
		i -= len(p.ring)
	}
	return p.endpoints[p.ring[i].at].now.Load()
}

// hash returns the hash of a call: that of its route (A42), or that of a header (A76).
func (p *ringPicker) hash(info balancer.PickInfo) (uint64, bool) {
	if p.header == "" {
		if c := lbtree.CallOf(info.Ctx); c != nil {
			return c.Hash, c.HasHash
		}
		return 0, false
	}
	md, _ := metadata.FromOutgoingContext(info.Ctx)
	value := strings.Join(md.Get(p.header), ",")
	return xxhash.Sum64String(value), value != ""
}
