package composite

import (
	"testing"

	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
)

// The filters run for a call whose random number is below sample_percent (A103). A call that is not in the sample passes, even
// if a filter cannot run.
func TestSample(t *testing.T) {
	for _, tt := range []struct {
		share, random uint32
		runs          bool
	}{
		{0, 0, false}, {1, 0, true}, {1, 1, false}, {perMillion - 1, perMillion - 2, true}, {perMillion - 1, perMillion - 1, false}, {perMillion, perMillion - 1, true},
	} {
		c := chooser[int]{
			tree:    &matchtree.Tree[int]{None: &matchtree.Outcome[int]{}},
			actions: []action[int]{{run: []int{7}, err: errSide, perMillion: tt.share}},
			random:  func(uint32) uint32 { return tt.random },
		}
		run, err := c.choose(new(matchtree.Call))
		if runs := len(run) > 0; runs != tt.runs || (err != nil) != tt.runs {
			t.Errorf("%d per million and the random number %d: runs %v, %v; want %v", tt.share, tt.random, runs, err, tt.runs)
		}
	}
}
