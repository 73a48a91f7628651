package lkg

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Names of files. A file of a generation is called by its authority and its sequence number.
const (
	lockName   = "lock"
	fileSuffix = ".lkg"
	tempPrefix = "tmp-"

	authorityDigits = 16
	sequenceDigits  = 20
)

// maxFiles is the limit of files in a directory. Further ones are ignored.
const maxFiles = 1 << 16

// ErrUnsafe is in the error of a directory that others could manipulate.
var ErrUnsafe = errors.New("the directory is not safe")

// A directory reads and writes the files of a store. One process at a time has the lock and may
// write. Every access is relative to the opened directory, so that renaming it has no effect.
type directory struct {
	path string
	root *os.Root
	lock *os.File // nil: another process has it, or the directory is read-only

	// create opens a new file. Tests replace it to simulate a full disk.
	create func(name string) (file, error)
}

// A file is a file that is written.
type file interface {
	io.WriteCloser
	Sync() error
}

// openDirectory opens a directory, and creates it if it does not exist.
func openDirectory(path string) (*directory, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("lkg: creating the directory: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("lkg: opening the directory: %w", err)
	}
	d := &directory{path: path, root: root}
	d.create = func(name string) (file, error) {
		return root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	info, err := root.Stat(".")
	if err == nil {
		err = safe(info)
	}
	if err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("lkg: Dir = %q; %w", path, err)
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

// acquire takes the lock if nobody has it. Without the lock, the store only reads; the error is the
// reason.
func (d *directory) acquire() error {
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
func (d *directory) sweep() {
	for _, name := range d.list() {
		if strings.HasPrefix(name, tempPrefix) {
			_ = d.root.Remove(name) // the next sweep tries again
		}
	}
}

// list returns the names of all files.
func (d *directory) list() []string {
	f, err := d.root.Open(".")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	names, _ := f.Readdirnames(maxFiles)
	return names
}

// files returns the sequence numbers of an authority's generations, the newest first.
func (d *directory) files(prefix string) []uint64 {
	var list []uint64
	for _, name := range d.list() {
		if p, seq, ok := parseName(name); ok && p == prefix {
			list = append(list, seq)
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// prefixOfName returns the beginning of the names of an authority's files.
func prefixOfName(authority string) string {
	sum := sha256.Sum256([]byte(authority))
	return hex.EncodeToString(sum[:])[:authorityDigits]
}

func fileName(prefix string, sequence uint64) string {
	return fmt.Sprintf("%s-%0*d%s", prefix, sequenceDigits, sequence, fileSuffix)
}

func parseName(name string) (prefix string, sequence uint64, ok bool) {
	rest, isFile := strings.CutSuffix(name, fileSuffix)
	prefix, digits, found := strings.Cut(rest, "-")
	if !isFile || !found || len(prefix) != authorityDigits || len(digits) != sequenceDigits {
		return "", 0, false
	}
	sequence, err := strconv.ParseUint(digits, 10, 64)
	return prefix, sequence, err == nil
}

// read returns the content of a file. It refuses a file that others could write to, and one that
// exceeds the limit.
func (d *directory) read(name string, limit int64) ([]byte, error) {
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

// write writes a file atomically and durably: when it returns without an error, the file survives a
// crash. Nobody sees a part of it.
func (d *directory) write(name string, content []byte) (err error) {
	temp := tempPrefix + rand.Text()
	f, err := d.create(temp)
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
func (d *directory) sync() error {
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

// prune removes all but the newest generations of an authority.
func (d *directory) prune(prefix string, keep int) {
	for i, seq := range d.files(prefix) {
		if i >= keep {
			_ = d.root.Remove(fileName(prefix, seq)) // the next write tries again
		}
	}
}

// close releases the lock and the directory.
func (d *directory) close() error {
	var err error
	if d.lock != nil {
		err = d.lock.Close()
	}
	if e := d.root.Close(); err == nil {
		err = e
	}
	return err
}
