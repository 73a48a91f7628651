package files

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/partial"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A file without a last valid version may have resources whose names nobody knows: its syntax is broken, it cannot be read, or
// a resource in it has no name. As long as there is such a file,
//
//   - no resource is deleted: the file may be another one that was renamed;
//   - a directory that has just been opened knows only a part of its resources. Its sessions report other names as
//     unavailable, and do not answer for collections.
//
// The resources of such a directory have an epoch of their own. The end of it makes sessions report everything.

// unknown returns the files whose names are not known, in their order.
func unknown(files map[string]*file) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name].unknown {
			names = append(names, name)
		}
	}
	return names
}

// hold keeps the resources that the readable files do not have. It returns a problem if there are any.
func (d *Dir) hold(has map[source.Key]source.Resource, unknown []string) error {
	held := 0
	for k, r := range d.has {
		if _, ok := has[k]; !ok {
			has[k] = r
			held++
		}
	}
	if held == 0 {
		return nil
	}
	return fmt.Errorf("%s: names of resources; must be readable: until then, %d resources stay that no file has any more", unknown[0], held)
}

// commit commits a transaction. It begins an epoch when the directory turns out to be known in part, and when it is no longer.
func (d *Dir) commit(ctx context.Context, tx *source.Tx, inPart bool) error {
	if inPart == d.inPart { // the epoch goes on
		if len(tx.Operations()) == 0 {
			return nil
		}
		_, err := d.memory.Commit(ctx, tx)
		return err
	}
	epoch := strconv.FormatInt(time.Now().UnixNano(), 36)
	if inPart {
		epoch = partial.Epoch(epoch)
	}
	if err := d.memory.CommitAt(ctx, tx, epoch, d.memory.Revision()+1); err != nil {
		return err
	}
	d.inPart = inPart
	return nil
}

// partState returns the state of a directory that is known in part.
func (d *Dir) partState(unknown []string, next map[string]*file) source.State {
	reason := printable.Text(next[unknown[0]].err.Error(), printable.Quoted)
	return source.State{Kind: source.Stale, Since: d.opened, Err: fmt.Errorf("files: %w: %s", partial.Err, reason)}
}

// A partSink makes the changes of a directory that is known in part say only what is known.
type partSink struct{ source.Sink }

// Apply implements [source.Sink].
func (s partSink) Apply(ch source.Change) error {
	if partial.IsEpoch(ch.Epoch) {
		ch.Put = append(slices.Clip(ch.Put), partial.Unavailable(&ch, "a file of the server cannot be read, and may have the resource")...)
		ch.Complete = slices.DeleteFunc(slices.Clone(ch.Complete), func(i source.Interest) bool { return partial.IsCollection(i.Name) })
	}
	return s.Sink.Apply(ch)
}
