package files

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// Options set up a [Dir]. Zero selects the default.
type Options struct {
	// Types validate the resources. Resources of other types are ignored. Nil accepts every
	// resource whose message is linked into the program, without validation.
	Types *resource.Set
	// Config decides how names are parsed and which certificate providers exist. It may be nil.
	Config *bootstrap.Config
	// Server is the server entry that the resources belong to. It may be nil.
	Server *bootstrap.Server
	// Poll is the time between looks at the directory. Default 1 s. A look that takes long makes
	// the pause longer, so that looking takes at most a tenth of a processor.
	Poll time.Duration
	// Quiet is the time without changes after which a file counts as complete. Default 1 s.
	Quiet time.Duration
	// MovesOnly ignores files that are changed in place, as Envoy does.
	MovesOnly bool
	// CheckOwner rejects files and directories that somebody other than this user and root owns, or
	// that others may write. A rejected directory is down.
	CheckOwner bool
	// Logger logs rejected files. Nil discards.
	Logger *slog.Logger

	MaxFiles     int   // files in the directory. Default 100,000. More make it down.
	MaxFileBytes int64 // size of a file. Default 64 MiB. A larger one is rejected.
	MaxBytes     int64 // size of all files. Default 1 GiB. More make the directory down.
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Poll <= 0 {
		o.Poll = time.Second
	}
	if o.Quiet <= 0 {
		o.Quiet = time.Second
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = 100_000
	}
	if o.MaxFileBytes <= 0 {
		o.MaxFileBytes = 64 << 20
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 1 << 30
	}
	return o
}

// OpenURI opens the directory of a URI such as "file:///etc/xds". A path without a slash at its begin,
// as in "file:xds", is relative to the working directory. The parameters poll, quiet,
// moves_only and check_owner override the options, as in "file:///etc/xds?check_owner=true&poll=5s".
func OpenURI(uri string, o Options) (*Dir, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	switch {
	case u.Host != "" && u.Host != "localhost":
		return nil, fmt.Errorf("files: host = %q; must be empty: file:///path", u.Host)
	case u.Path == "" && u.Opaque == "":
		return nil, errors.New("files: path = \"\"; must be absolute as in file:///path, or relative as in file:path")
	}
	dir := u.Path
	if u.Opaque != "" {
		if dir, err = url.PathUnescape(u.Opaque); err != nil {
			return nil, fmt.Errorf("files: %w", err)
		}
	}
	if dir, err = filepath.Abs(filepath.FromSlash(dir)); err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	for name := range query {
		if err := o.set(name, query.Get(name)); err != nil {
			return nil, fmt.Errorf("files: %s = %q; %w", name, query.Get(name), err)
		}
	}
	return Open(dir, o)
}

// set sets an option to the value of a parameter.
func (o *Options) set(name, value string) (err error) {
	duration := func(d *time.Duration) error {
		if *d, err = time.ParseDuration(value); err != nil || *d <= 0 {
			return errors.New("must be a duration above zero such as \"5s\"")
		}
		return nil
	}
	boolean := func(b *bool) error {
		if *b, err = strconv.ParseBool(value); err != nil {
			return errors.New("must be true or false")
		}
		return nil
	}
	switch name {
	case "poll":
		return duration(&o.Poll)
	case "quiet":
		return duration(&o.Quiet)
	case "moves_only":
		return boolean(&o.MovesOnly)
	case "check_owner":
		return boolean(&o.CheckOwner)
	}
	return errors.New("must be one of poll, quiet, moves_only, check_owner")
}
