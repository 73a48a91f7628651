package client_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/internal/memoryads"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// The model has the expected content of caches and watchers, in maps. The test sends random events
// to the model and to a client with its control planes. Whenever all goroutines are idle, the
// client must agree with the model, and the control planes must have seen no violation.
//
// A run depends on its seed only. To see one again:
//
//	go test ./framework/client -run TestModel -model.temperament=istiod -model.seed=7
var (
	modelSequences = flag.Int("model.sequences", 0, "number of random sequences that TestModel runs with each temperament; 0: 10000 by the letter, 2000 with each other")
	modelTemper    = flag.String("model.temperament", "", "run sequences with this temperament of the control planes only")
	modelFirst     = flag.Uint64("model.first", 0, "first seed; the others follow")
	modelSteps     = flag.Int("model.steps", 12, "number of events of a sequence")
	modelSeed      = flag.Uint64("model.seed", 0, "run this sequence only, and tell its steps")
)

func TestModel(t *testing.T) {
	for _, temper := range memoryads.Temperaments() {
		if *modelTemper != "" && *modelTemper != temper.String() {
			continue
		}
		t.Run(temper.String(), func(t *testing.T) {
			if *modelSeed == 0 {
				runModel(t, temper, sequencesOf(temper))
				return
			}
			s := &sequence{seed: *modelSeed, temper: temper, steps: *modelSteps, tell: t.Logf}
			s.run(t)
			t.Log(s.column())
			if s.failure != "" {
				t.Fatal(s.failure)
			}
		})
	}
}

// sequencesOf is the number of sequences to run with a temperament.
func sequencesOf(temper memoryads.Temperament) int {
	switch {
	case *modelSequences > 0:
		return *modelSequences
	case temper == memoryads.Letter:
		return 10_000
	}
	return 2_000
}

// runModel runs sequences on all processors until one fails.
func runModel(t *testing.T, temper memoryads.Temperament, sequences int) {
	first := max(*modelFirst, 1)
	var next, events atomic.Uint64
	began := time.Now()
	t.Run("sequences", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for !t.Failed() {
					i := next.Add(1) - 1
					if i >= uint64(sequences) {
						return
					}
					s := &sequence{seed: first + i, temper: temper, steps: *modelSteps}
					s.run(t)
					events.Add(uint64(s.done))
					if s.failure != "" {
						t.Error(shrink(t, s))
					}
				}
			})
		}
	})
	t.Logf("%v, seeds from %d: %d sequences, %d events, %v", temper, first, min(next.Load(), uint64(sequences)), events.Load(), time.Since(began).Round(time.Second))
}

// shrink finds the shortest beginning of a sequence that fails.
func shrink(t *testing.T, failed *sequence) string {
	for steps := range failed.steps + 1 {
		var told strings.Builder
		s := &sequence{seed: failed.seed, temper: failed.temper, steps: steps, tell: func(format string, args ...any) {
			fmt.Fprintf(&told, "    "+format+"\n", args...)
		}}
		s.run(t)
		if s.failure != "" {
			return fmt.Sprintf("seed %d (%s) fails after %d of %d steps:\n%s  %s", s.seed, s.column(), steps, failed.steps, told.String(), s.failure)
		}
	}
	return fmt.Sprintf("seed %d (%s), but not again: %s", failed.seed, failed.column(), failed.failure)
}

// A sequence is one random run.
type sequence struct {
	seed   uint64
	temper memoryads.Temperament
	steps  int
	tell   func(format string, args ...any)

	done    int    // steps taken
	failure string // the first difference; empty: none
}

// A column is a protocol and a layout of control planes. Every sequence belongs to
// the column that its seed chooses.
type modelColumn struct {
	protocol modelProtocol
	layout   modelLayout
}

// A protocol is chosen by a feature of the servers.
type modelProtocol struct {
	name    string
	feature string
}

// A layout lists the servers of each authority, in their order.
type modelLayout struct {
	name        string
	servers     int
	authorities map[string][]int // "" is for old-style names
	collections bool             // wildcards and globs are watched, too
	lists       []string         // authorities whose list collections are watched, too
}

var (
	modelSotW  = modelProtocol{"sotw", ""}
	modelDelta = modelProtocol{"delta", feature.TransportDelta}

	modelOne        = modelLayout{name: "one server", servers: 1, authorities: map[string][]int{"": {0}}}
	modelFederation = modelLayout{name: "federation", servers: 2, authorities: map[string][]int{"": {0}, "east.example": {0}, "west.example": {1}}}
	modelFallback   = modelLayout{name: "fallback", servers: 2, authorities: map[string][]int{"": {0, 1}}}
	modelCollection = modelLayout{name: "collections", servers: 2, authorities: map[string][]int{"": {0}, "east.example": {1}}, collections: true}

	modelListed = modelLayout{name: "lists", servers: 2, authorities: map[string][]int{"east.example": {1}, "west.example": {0}}, collections: true, lists: []string{"east.example"}}

	modelColumns = []modelColumn{
		{modelSotW, modelOne},
		{modelSotW, modelFederation},
		{modelSotW, modelFallback},
		{modelSotW, modelCollection},
		{modelSotW, modelListed},
		{modelDelta, modelOne},
		{modelDelta, modelFederation},
		{modelDelta, modelFallback},
		{modelDelta, modelCollection},
		{modelDelta, modelListed},
	}
)

func (s *sequence) column() string {
	c := modelColumns[s.seed%uint64(len(modelColumns))]
	return s.temper.String() + ", " + c.protocol.name + ", " + c.layout.name
}

// run runs the sequence in a bubble. It fails t only for faults that the model does not check, such
// as leaked goroutines.
func (s *sequence) run(t *testing.T) {
	defer func() {
		if p := recover(); p != nil {
			panic(fmt.Sprintf("seed %d: %v", s.seed, p))
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(s.seed, 0))
		w := newModelWorld(t, modelColumns[s.seed%uint64(len(modelColumns))], s.temper, rng)
		w.tell = s.tell
		if s.tell != nil && *modelSeed != 0 {
			w.trace()
		}
		for s.done < s.steps && w.failure == "" {
			w.step()
			s.done++
		}
		if w.failure == "" {
			w.settle()
		}
		w.close()
		s.failure = w.failure
	})
}
