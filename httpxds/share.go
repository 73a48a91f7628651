package httpxds

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/httpxds/internal/builtin"
	"github.com/xdsforge/xdsforge/httpxds/internal/filterlist"
	"github.com/xdsforge/xdsforge/internal/extensions/lbpolicy"
)

// logger returns the first of own, the Env's logger and slog.Default() that is set.
func (e *opened) logger(own *slog.Logger) *slog.Logger {
	return cmp.Or(own, e.Logger(), slog.Default())
}

// A share is the state that the servers or the clients of an Env have in common, in addition to that of all data planes.
type share struct {
	types   *resource.Set // the types of the Env, with exactly the HTTP filters that run here
	filters *filterlist.Registry
}

// shareKey is the key of the attachment of a side.
type shareKey struct{ resource.Side }

// share returns the state of the servers or the clients. The first call creates it.
func (e *opened) share(side resource.Side) (*share, error) {
	s, err := e.Attach(shareKey{side}, func() (io.Closer, error) { return newShare(e.Types(), side) })
	if err != nil {
		return nil, fmt.Errorf("httpxds: %w", err)
	}
	return s.(*share), nil
}

// newShare combines the filters of the Env with the built-in ones. A filter that runs only in gRPC parses the
// configuration of a built-in one, if there is one for the same message. Otherwise resources that need it are rejected
// (gRFC A39).
func newShare(all *resource.Set, side resource.Side) (*share, error) {
	running := make(map[string]httpfilter.Filter)
	for _, f := range builtin.Filters() {
		running[f.Config] = f
	}
	for x := range all.Extensions() {
		switch x := x.(type) {
		case *httpfilter.Filter:
			running[x.Config] = *x
		case httpfilter.Filter:
			running[x.Config] = x
		}
	}
	list := make([]httpfilter.Filter, 0, len(running))
	fill := make([]resource.Extension, 0, len(running))
	for message, f := range running {
		if parses, ok := all.HTTPFilter(message); ok {
			f.HTTPFilter = parses
		}
		list, fill = append(list, f), append(fill, f)
	}
	if side == resource.ClientSide {
		fill = append(fill, lbpolicy.RandomPolicy())
	}
	types, err := all.Keep(func(x resource.Extension) bool {
		message, filter := filterMessage(x)
		_, runs := running[message]
		return complete(x) && (!filter || runs)
	}).Fill(fill...)
	if err != nil {
		return nil, err
	}
	if types, err = types.Extend(resource.HTTP); err != nil {
		return nil, err
	}
	s := &share{types: types}
	s.filters, err = filterlist.NewRegistry(side, list)
	return s, err
}

// complete reports whether an extension is not a certificate provider that only reads configurations.
func complete(x resource.Extension) bool {
	_, reads := x.(*resource.CertificateProvider)
	return !reads
}

// filterMessage returns the configuration message of an HTTP filter, of whatever package.
func filterMessage(x resource.Extension) (message string, ok bool) {
	names, err := resource.ExtensionNames(x)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(names[0], "HTTP filter ")
}

// Close implements [io.Closer]. The filters end with their requests.
func (*share) Close() error { return nil }
