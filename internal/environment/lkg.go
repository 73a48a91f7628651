package environment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/xdsforge/xdsforge/framework/lkg"
)

// store returns the options of the last known good store: those of the program, or those of the
// bootstrap. It returns nil if there is no store.
func (s *Settings) store() (*lkg.Options, error) {
	if s.LastKnownGood != nil {
		o := *s.LastKnownGood
		return &o, nil
	}
	b, ok := s.Config.LastKnownGood()
	if !ok {
		return nil, nil
	}
	o := &lkg.Options{Dir: b.Dir, MaxAge: b.MaxAge, Keep: b.Keep, MaxBytes: b.MaxBytes}
	if b.KeyFile != "" {
		var err error
		if o.Key, err = readKey(b.KeyFile); err != nil {
			return nil, fmt.Errorf("bootstrap: xdsforge.last_known_good.key_file: %w", err)
		}
	}
	return o, nil
}

// maxKeyFile is the limit of the size of a file with a key.
const maxKeyFile = 4 << 10

// readKey returns the content of a file, without a newline at its end.
func readKey(path string) ([]byte, error) {
	f, err := os.Open(path) // the bootstrap names the file
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("%s: mode = %v; must give others no permission", path, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxKeyFile {
		return nil, fmt.Errorf("%s: size = more than %d bytes; must be at most that", path, maxKeyFile)
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	if len(data) == 0 {
		return nil, errors.New(path + ": the file is empty; must have at least 16 random bytes")
	}
	return data, nil
}
