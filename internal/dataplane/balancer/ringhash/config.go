package ringhash

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/http/httpguts"
)

const (
	defaultMin = 1024
	defaultCap = 4096    // of both sizes, unless the program sets another (A42)
	limit      = 8 << 20 // the limit of sizes in a configuration
)

// A config is the policy's configuration.
type config struct {
	MinSize uint64 `json:"minRingSize"`
	MaxSize uint64 `json:"maxRingSize"`
	// Header is the header to hash, instead of the hash of the call's route (A76).
	Header string `json:"requestHashHeader"`
}

// parse reads a configuration. It lowers sizes above the cap to the cap.
func parse(text string, most uint64) (config, error) {
	if most == 0 {
		most = defaultCap
	}
	c := config{MinSize: defaultMin, MaxSize: most}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return config{}, fmt.Errorf("ring_hash: %w", err)
	}
	if c.MinSize == 0 { // not set
		c.MinSize = defaultMin
	}
	switch {
	case c.MinSize > limit || c.MaxSize > limit:
		return config{}, fmt.Errorf("ring_hash: sizes %d to %d; must be at most %d (A42)", c.MinSize, c.MaxSize, limit)
	case c.MinSize > c.MaxSize:
		return config{}, fmt.Errorf("ring_hash: minRingSize = %d; must be at most maxRingSize, which is %d", c.MinSize, c.MaxSize)
	}
	c.MinSize, c.MaxSize = min(c.MinSize, most), min(c.MaxSize, most)
	c.Header = strings.ToLower(c.Header)
	if c.Header == "" {
		return c, nil
	}
	if !httpguts.ValidHeaderFieldName(c.Header) {
		return config{}, fmt.Errorf("ring_hash: requestHashHeader = %q; must be a header (A76)", c.Header)
	}
	if strings.HasSuffix(c.Header, "-bin") {
		return config{}, errors.New("ring_hash: requestHashHeader must not be binary (A76)")
	}
	return c, nil
}
