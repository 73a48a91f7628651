//go:build unix && !solaris && !aix

package durable

import (
	"io/fs"
	"os"
	"syscall"
)

// lock takes the lock of a file, or fails at once. It ends when the file is closed or the process
// ends.
func lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return &fs.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	return nil
}

// owner returns the user that a file belongs to.
func owner(info fs.FileInfo) (uid int, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
