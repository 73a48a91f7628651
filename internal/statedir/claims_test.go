package statedir

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A file may lack the newest resources and those with secrets. So it answers only for names that it has, and for no
// collection, until the source has reported its resources.
func TestFileAnswersForItsNamesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := stored(t, nil)
		p := run(t, dir, nil)
		defer p.close()
		const glob = "xdstp://e/test.Policy/dir/*"
		p.memory.SetState(source.State{Kind: source.Down, Err: errors.New("no route")})
		r, _ := p.open("a", "c", source.Wildcard, glob)
		r.expect(t, "start", source.Stale, map[string]string{"a": "one", "b": "one", "c": "error Unavailable"})
		for name, want := range map[string]bool{"a": true, "c": false, source.Wildcard: false, glob: false} {
			if _, answered := r.absent[name]; answered != want {
				t.Errorf("the file answers for %q: %t, want %t", name, answered, want)
			}
		}
		p.fill(30, map[string]string{"a": "one"})
		r.expect(t, "source live", source.Live, map[string]string{"a": "one"})
		for _, name := range []string{"a", "c", source.Wildcard, glob} {
			if _, answered := r.absent[name]; !answered {
				t.Errorf("the source does not answer for %q", name)
			}
		}
	})
}
