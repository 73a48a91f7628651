package main

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/internal/process"
)

// A server is the control plane in its own process.
type server struct {
	*process.Child
	addr string
}

func startServer(ctx context.Context, resources int) (*server, error) {
	c, err := process.Start(ctx, "-serve")
	if err != nil {
		return nil, err
	}
	s := &server{Child: c}
	err = s.Call("Fill", resources, &s.addr)
	return s, err
}

// touch changes a resource.
func (s *server) touch(url string, number int) error {
	return s.Call("Touch", Resource{url, number}, nil)
}

// spent is the processor time that f needs, garbage that it leaves included.
func spent(f func() error) (time.Duration, error) {
	runtime.GC()
	before := process.CPU()
	err := f()
	runtime.GC()
	return process.CPU() - before, err
}

// median measures several times.
func median(times int, f func(i int) (time.Duration, error)) (time.Duration, error) {
	var all []time.Duration
	for i := range times {
		d, err := f(i)
		if err != nil {
			return 0, err
		}
		all = append(all, d)
	}
	return middle(all), nil
}

// turns is the number of measurements of each of two subjects.
const turns = 9

// takeTurns measures two subjects alternately, so that other load on the machine affects both.
func takeTurns[K comparable](a, b K, f func(k K, round int) (time.Duration, error)) (mine, peer time.Duration, err error) {
	all := make(map[K][]time.Duration)
	for i := range turns {
		for _, k := range []K{a, b} {
			d, err := f(k, i)
			if err != nil {
				return 0, 0, err
			}
			all[k] = append(all[k], d)
		}
	}
	return middle(all[a]), middle(all[b]), nil
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// compare returns the processor time of one call of each of two functions. They take turns,
// so that other load on the machine affects both.
func compare(f, g func() error) (mine, peer time.Duration, err error) {
	const rounds, enough = 9, 50 * time.Millisecond
	var all [2][]time.Duration
	for range rounds {
		for i, call := range []func() error{f, g} {
			runtime.GC()
			calls, before := 0, process.CPU()
			for process.CPU()-before < enough {
				for range 100 {
					if err := call(); err != nil {
						return 0, 0, err
					}
				}
				calls += 100
			}
			all[i] = append(all[i], (process.CPU()-before)/time.Duration(calls))
		}
	}
	return middle(all[0]), middle(all[1]), nil
}
