//go:build !unix || solaris || aix

package lkg

import (
	"errors"
	"io/fs"
	"os"
)

// lock fails: without a lock, the store only reads.
func lock(*os.File) error { return errors.ErrUnsupported }

func owner(fs.FileInfo) (uid int, ok bool) { return 0, false }
