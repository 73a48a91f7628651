package lkg

import (
	"fmt"
	"log/slog"
	"time"
)

// Defaults of [Options].
const (
	defaultMaxAge   = 24 * time.Hour
	defaultQuiet    = 2 * time.Second
	defaultMaxDelay = 30 * time.Second
	defaultKeep     = 3
	defaultMaxBytes = 256 << 20
)

// maxKeep is the limit of [Options.Keep].
const maxKeep = 100

// minKey is the smallest length of [Options.Key].
const minKey = 16

// maxResources is the limit of resources in a generation.
const maxResources = 1 << 20

// Options set up a [Store].
type Options struct {
	// Dir is the directory of the store. Required. It must belong to the user of the process, and
	// nobody else may have permission to write to it. Open creates it with mode 0700 if it does not
	// exist. Nodes must not share a directory.
	Dir string
	// Key encrypts and authenticates the files (AES-256-GCM). It has at least 16 random bytes. The
	// store keeps resources with secrets only if it is set. Without it, a checksum detects damage
	// but not manipulation. With it, files without encryption are refused.
	Key []byte
	// MaxAge is how long a resource may be used after a server last confirmed it. The default is
	// 24 h; a negative one has no limit.
	MaxAge time.Duration
	// TypeMaxAge has shorter limits for some types, by the full name of the message, as in
	// "envoy.config.endpoint.v3.ClusterLoadAssignment".
	TypeMaxAge map[string]time.Duration
	// Quiet is how long the resources of an authority must not change before the store writes them.
	// The default is 2 s.
	Quiet time.Duration
	// MaxDelay is the longest time that changes are kept back while others follow. It is also the
	// pause after a failed write. The default is 30 s.
	MaxDelay time.Duration
	// Keep is the number of generations to keep of each authority, at most 100. The default is 3.
	Keep int
	// MaxBytes is the limit of the size of a generation. The default is 256 MiB. Resources that
	// nobody watches any more give way first.
	MaxBytes int64
	// Logger is where the store logs. Nil discards.
	Logger *slog.Logger
}

// withDefaults returns the options with defaults, or an error that names the invalid one.
func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Dir == "":
		return o, fmt.Errorf("lkg: Dir = %q; must name a directory", o.Dir)
	case len(o.Key) > 0 && len(o.Key) < minKey:
		return o, fmt.Errorf("lkg: Key = %d bytes; must have at least %d", len(o.Key), minKey)
	case o.Quiet < 0:
		return o, fmt.Errorf("lkg: Quiet = %v; must not be negative", o.Quiet)
	case o.MaxDelay < 0:
		return o, fmt.Errorf("lkg: MaxDelay = %v; must not be negative", o.MaxDelay)
	case o.Keep < 0 || o.Keep > maxKeep:
		return o, fmt.Errorf("lkg: Keep = %d; must be between 0, which is the default, and %d", o.Keep, maxKeep)
	case o.MaxBytes < 0:
		return o, fmt.Errorf("lkg: MaxBytes = %d; must not be negative", o.MaxBytes)
	}
	for name, age := range o.TypeMaxAge {
		if age <= 0 {
			return o, fmt.Errorf("lkg: TypeMaxAge[%q] = %v; must be positive", name, age)
		}
	}
	setDefault(&o.MaxAge, defaultMaxAge)
	setDefault(&o.Quiet, defaultQuiet)
	setDefault(&o.MaxDelay, defaultMaxDelay)
	setDefault(&o.Keep, defaultKeep)
	setDefault(&o.MaxBytes, defaultMaxBytes)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// maxAge returns how long a resource of a type may be used; zero is without limit.
func (o *Options) maxAge(typ string) time.Duration {
	limit := max(o.MaxAge, 0)
	if age, ok := o.TypeMaxAge[typ]; ok && (limit == 0 || age < limit) {
		return age
	}
	return limit
}
