//go:build unix

package files

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// writableByOthers are the permissions that CheckOwner forbids.
const writableByOthers = 0o022

// checkOwner returns an error if somebody other than this user and root can change a file.
func checkOwner(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: the owner is unknown", path)
	}
	if uid := os.Geteuid(); int(stat.Uid) != uid && stat.Uid != 0 {
		return fmt.Errorf("%s: owner = %d; must be %d, the user of the process, or root", path, stat.Uid, uid)
	}
	if mode := info.Mode().Perm(); mode&writableByOthers != 0 {
		return fmt.Errorf("%s: mode = %#o; must not be writable by the group or others", path, mode)
	}
	return nil
}

// inodeOf returns the number of a file. A file that is moved into place has another one than its
// predecessor.
func inodeOf(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}
