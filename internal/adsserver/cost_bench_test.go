package adsserver

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/process"
)

// A cost is a request whose work the benchmark measures.
type cost struct {
	name string
	run  func(b *testing.B, n int) time.Duration
}

// timed returns the processor time of a function, without garbage collection. Other programs do not count, and neither
// does the memory that the system has to give.
func timed(f func()) time.Duration {
	touch(make([]byte, 128<<20))
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	start := process.CPU()
	f()
	return process.CPU() - start
}

// touch has the system give the memory of its pages.
func touch(pages []byte) {
	for i := 0; i < len(pages); i += 4096 {
		pages[i] = 1
	}
}

// A silent source never reports anything.
type silent struct{}

func (silent) Open(context.Context, source.Sink) (source.Session, error) { return silent{}, nil }
func (silent) Want(_, _ []source.Interest)                               {}
func (silent) Report(source.Rejection)                                   {}

// costStream opens a stream of a core with high limits, and has it handle the first requests.
func costStream(b *testing.B, o StreamOptions, first ...proto.Message) *Stream {
	b.Helper()
	c, err := New(Config{Source: silent{}, Limits: Limits{Names: 1 << 24, TotalBytes: 1 << 30, Collections: 1 << 24}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	st, err := c.OpenStream(o)
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range first {
		if err := st.Request(encoded(b, m)); err != nil {
			b.Fatal(err)
		}
	}
	return st
}

// request returns the time of a request.
func (st *Stream) timedRequest(b *testing.B, m proto.Message) time.Duration {
	b.Helper()
	raw := encoded(b, m)
	return timed(func() {
		if err := st.Request(raw); err != nil {
			b.Fatal(err)
		}
	})
}

func deltaOf(subscribe, unsubscribe []string) *discoveryv3.DeltaDiscoveryRequest {
	return &discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: subscribe, ResourceNamesUnsubscribe: unsubscribe}
}

func wholeOf(names []string) *discoveryv3.DiscoveryRequest {
	return &discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResourceNames: names}
}

func costs() []cost {
	delta := StreamOptions{Delta: true}
	refused := StreamOptions{Delta: true, Allow: func(string, string) bool { return false }}
	var list []cost
	for what, format := range map[string]string{"names": "name-%06d", "globs": globs} {
		list = append(list,
			cost{what + "/subscribe", func(b *testing.B, n int) time.Duration {
				return costStream(b, delta).timedRequest(b, deltaOf(numbered(format, n), nil))
			}},
			cost{what + "/subscribe again", func(b *testing.B, n int) time.Duration {
				return costStream(b, delta, deltaOf(numbered(format, n), nil)).timedRequest(b, deltaOf(numbered(format, n), nil))
			}},
			cost{what + "/unsubscribe", func(b *testing.B, n int) time.Duration {
				return costStream(b, delta, deltaOf(numbered(format, n), nil)).timedRequest(b, deltaOf(nil, numbered(format, n)))
			}},
			cost{what + "/replace", func(b *testing.B, n int) time.Duration {
				all := numbered(format, 2*n)
				return costStream(b, StreamOptions{}, wholeOf(all[:n])).timedRequest(b, wholeOf(all[n:]))
			}},
			cost{what + "/reverse", func(b *testing.B, n int) time.Duration {
				all := numbered(format, n)
				st := costStream(b, StreamOptions{}, wholeOf(all))
				slices.Reverse(all)
				return st.timedRequest(b, wholeOf(all))
			}},
			cost{what + "/refuse", func(b *testing.B, n int) time.Duration {
				return costStream(b, refused).timedRequest(b, deltaOf(numbered(format, n), nil))
			}},
			cost{what + "/forgive", func(b *testing.B, n int) time.Duration {
				return costStream(b, refused, deltaOf(numbered(format, n), nil)).timedRequest(b, deltaOf(nil, numbered(format, n)))
			}},
			cost{what + "/end", func(b *testing.B, n int) time.Duration {
				st := costStream(b, delta, deltaOf(numbered(format, n), nil))
				return timed(func() { st.Close(ErrClosed) })
			}},
		)
	}
	return append(list, aliasCosts()...)
}

// BenchmarkCostOfARequest compares a request with one of four times its size. The work grows as the size times a
// logarithm, so the time grows by at most five.
//
// Both sizes fit into the caches of a processor. Otherwise, the larger one would also measure that its names are in no cache.
// The two take turns, and the least processor time of each counts, so that other programs and changes of the clock affect
// both or neither. TestCostIsCounted shows the growth for larger requests, without time.
func BenchmarkCostOfARequest(b *testing.B) {
	const size, runs = 4_000, 25
	for _, c := range costs() {
		b.Run(c.name, func(b *testing.B) {
			var ratio float64
			for b.Loop() {
				small, large := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
				for range runs {
					small, large = min(small, c.run(b, size)), min(large, c.run(b, 4*size))
				}
				ratio = float64(large) / float64(small)
				b.ReportMetric(float64(large.Nanoseconds())/(4*size), "ns/name")
			}
			b.ReportMetric(ratio, "x-at-4-times-the-size")
			if ratio > 5 {
				b.Errorf("four times the size takes %.1f times as long; must be at most 5", ratio)
			}
		})
	}
}
