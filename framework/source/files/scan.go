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
}

func (l *look) equal(m *look) bool { return l.root == m.root && maps.Equal(l.files, m.files) }

// dataLink is the link that Kubernetes swaps when a ConfigMap changes.
const dataLink = "..data"

// maxDepth is the limit of nested directories.
const maxDepth = 32

var errNoFiles = errors.New("the directory has no resource files; use a file with an empty list to have no resources")

// scan looks at the directory.
func (d *Dir) scan() (*look, error) {
	l := &look{root: d.path, files: make(map[string]mark)}
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
	return l, d.walk(l, "", 0, &total)
}

// walk looks at the files in a directory below the root.
func (d *Dir) walk(l *look, below string, depth int, total *int64) error {
	entries, err := os.ReadDir(filepath.Join(l.root, below))
	if err != nil {
		return err
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
			return err
		case info.IsDir() && depth == maxDepth:
			return fmt.Errorf("%s is nested more than %d directories deep", name, maxDepth)
		case info.IsDir():
			if err := d.walk(l, name, depth+1, total); err != nil {
				return err
			}
			continue
		case !info.Mode().IsRegular() || formatOf(name) == nil:
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
