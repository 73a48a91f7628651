//go:build !unix || solaris || aix

package durable

import (
	"errors"
	"io/fs"
	"os"
)

// lock fails: without a lock, a directory is only read.
func lock(*os.File) error { return errors.ErrUnsupported }

func owner(fs.FileInfo) (uid int, ok bool) { return 0, false }
