package files

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A mark identifies the content of a file without reading it.
type mark struct {
	inode uint64
	size  int64
	mtime time.Time
}

// A look is the state of a directory.
type look struct {
	root  string // that was read: the directory, or the target of its "..data"
	swap  bool   // root is the target of "..data"
	files map[string]mark
	bad   map[string]bad // entries that cannot be read
}

// A bad entry is a file or directory that cannot be read.
type bad struct {
	text  string // the reason
	known bool   // it has nothing that the directory does not have elsewhere
}

func (l *look) equal(m *look) bool {
	return l.root == m.root && maps.Equal(l.files, m.files) && maps.Equal(l.bad, m.bad)
}

// dataLink is the link that Kubernetes swaps when a ConfigMap changes.
const dataLink = "..data"

// maxDepth is the limit of nested directories.
const maxDepth = 32

var errNoFiles = errors.New("the directory has no resource files; use a file with an empty list to have no resources")

// scan looks at the directory.
func (d *Dir) scan() (*look, error) {
	l := &look{root: d.path, files: make(map[string]mark), bad: make(map[string]bad)}
	if target, err := filepath.EvalSymlinks(filepath.Join(d.path, dataLink)); err == nil {
		l.root, l.swap = target, true
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	info, err := os.Stat(l.root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is no directory", l.root)
	}
	if d.options.CheckOwner {
		for _, path := range []string{d.path, l.root} {
			if err := checkOwner(path); err != nil {
				return nil, err
			}
		}
	}
	var total int64
	return l, d.walk(l, "", []fs.FileInfo{info}, &total)
}

// lostFound is the directory of fsck at the root of a file system, which only root can read.
const lostFound = "lost+found"

// walk looks at the files in a directory below the root. The directories above it and itself are the parents. An entry
// that cannot be read does not affect others.
func (d *Dir) walk(l *look, below string, parents []fs.FileInfo, total *int64) error {
	depth := len(parents) - 1
	entries, err := os.ReadDir(filepath.Join(l.root, below))
	switch {
	case err == nil:
	case depth == 0:
		return err
	case filepath.Base(below) == lostFound:
		return nil
	default:
		l.bad[below] = bad{text: err.Error()}
		return nil
	}
	for _, e := range entries {
		name := filepath.Join(below, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := os.Stat(filepath.Join(l.root, name)) // of the target of a link
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // a broken link, or removed just now
		case err != nil:
			l.bad[name] = bad{text: err.Error()}
			continue
		case info.IsDir() && slices.ContainsFunc(parents, func(p fs.FileInfo) bool { return os.SameFile(p, info) }):
			l.bad[name] = bad{text: "must not be a link to a directory above it", known: true}
			continue
		case info.IsDir() && depth == maxDepth:
			return fmt.Errorf("%s is nested more than %d directories deep", name, maxDepth)
		case info.IsDir():
			if err := d.walk(l, name, append(slices.Clip(parents), info), total); err != nil {
				return err
			}
			continue
		case formatOf(name) == nil:
			continue
		case !info.Mode().IsRegular():
			l.bad[name] = bad{text: "must be a regular file"}
			continue
		}
		if len(l.files) == d.options.MaxFiles {
			return fmt.Errorf("the directory has more than %d files (MaxFiles)", d.options.MaxFiles)
		}
		if *total += info.Size(); *total > d.options.MaxBytes {
			return fmt.Errorf("the files of the directory have more than %d bytes (MaxBytes)", d.options.MaxBytes)
		}
		l.files[name] = mark{inodeOf(info), info.Size(), info.ModTime()}
	}
	return nil
}

// names returns the names of the files in their order.
func (l *look) names() []string { return slices.Sorted(maps.Keys(l.files)) }
