package durable

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

const (
	lockName   = "lock"
	tempPrefix = "tmp-"

	// maxFiles is the limit of files in a directory. Further ones are ignored.
	maxFiles = 1 << 16
)

// ErrUnsafe is in the error of a directory that others could manipulate.
var ErrUnsafe = errors.New("the directory is not safe")

// A Dir reads and writes the files of a directory. One process at a time has the lock and may write. Every access
// is relative to the opened directory, so that renaming it has no effect.
type Dir struct {
	root *os.Root
	lock *os.File // nil: another process has it, or the directory is read-only

	// Create opens a new file. Tests replace it to simulate a full disk.
	Create func(name string) (File, error)
}

// A File is a file that is written.
type File interface {
	io.WriteCloser
	Sync() error
}

// Open opens a directory, and creates it if it does not exist. The error of a directory that others could write to
// has [ErrUnsafe] in its chain.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("creating the directory: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("opening the directory: %w", err)
	}
	d := &Dir{root: root}
	d.Create = func(name string) (File, error) {
		return root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	info, err := root.Stat(".")
	if err == nil {
		err = safe(info)
	}
	if err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("Dir = %q; %w", path, err)
	}
	return d, nil
}

// safe returns an error if another user could write to a file or directory.
func safe(info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%w: mode = %04o; must not let group or others write (chmod go-w)", ErrUnsafe, mode)
	}
	if uid, ok := owner(info); ok && uid != os.Geteuid() {
		return fmt.Errorf("%w: owner = uid %d; must be the user of the process, uid %d", ErrUnsafe, uid, os.Geteuid())
	}
	return nil
}

// Acquire takes the lock if nobody has it. Without the lock, the process only reads; the error is the reason.
func (d *Dir) Acquire() error {
	if d.lock != nil {
		return nil
	}
	f, err := d.root.OpenFile(lockName, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := lock(f); err != nil {
		_ = f.Close()
		return err
	}
	d.lock = f
	d.sweep()
	return nil
}

// sweep removes the temporary files of processes that were killed. The caller has the lock.
func (d *Dir) sweep() {
	for _, name := range d.List() {
		if strings.HasPrefix(name, tempPrefix) {
			_ = d.root.Remove(name) // the next sweep tries again
		}
	}
}

// List returns the names of all files.
func (d *Dir) List() []string {
	f, err := d.root.Open(".")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	names, _ := f.Readdirnames(maxFiles)
	return names
}

// Read returns the content of a file. It refuses a file that others could write to, and one that exceeds the limit
// of its size.
func (d *Dir) Read(name string, limit int64) ([]byte, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > limit:
		return nil, fmt.Errorf("size = %d bytes; must not exceed MaxBytes, %d", info.Size(), limit)
	}
	if err := safe(info); err != nil {
		return nil, err
	}
	b := make([]byte, info.Size())
	_, err = io.ReadFull(f, b)
	return b, err
}

// Write writes a file atomically and durably: when it returns without an error, the file survives a crash. Nobody
// sees a part of it. The caller has the lock.
func (d *Dir) Write(name string, content []byte) (err error) {
	temp := tempPrefix + rand.Text()
	f, err := d.Create(temp)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = d.root.Remove(temp)
		}
	}()
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if err := d.root.Rename(temp, name); err != nil {
		return err
	}
	return d.sync()
}

// sync makes changes of names durable.
func (d *Dir) sync() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	err = f.Sync()
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// Remove removes a file.
func (d *Dir) Remove(name string) error { return d.root.Remove(name) }

// Time returns the time of modification of a file.
func (d *Dir) Time(name string) (time.Time, error) {
	info, err := d.root.Stat(name)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// SetTime sets the time of modification of a file.
func (d *Dir) SetTime(name string, t time.Time) error { return d.root.Chtimes(name, t, t) }

// Close releases the lock and the directory.
func (d *Dir) Close() error {
	var err error
	if d.lock != nil {
		err = d.lock.Close()
	}
	if e := d.root.Close(); err == nil {
		err = e
	}
	return err
}
