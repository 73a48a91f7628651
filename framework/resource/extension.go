package resource

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
)

// An Extension is code for one kind of configuration that resources carry
// without knowing it: an [*HTTPFilter], an [*LBPolicy], a [*ClusterSpecifier], a
// [*MetadataKind] or a [*CertificateProvider]. It is registered beside the types,
// frozen with them, and never changed afterwards; its functions are called from
// several goroutines. A struct that embeds a pointer to one of these is an extension too:
// packages that run HTTP filters and certificate providers add their code in this way.
type Extension interface {
	// keys are what the extension is found by.
	keys() []extensionKey
	// check says what the extension lacks.
	check() error
	// half is the part that reads configurations. A struct that embeds an extension, and adds
	// code that runs, has the half of the extension that it embeds.
	half() Extension
}

// Side is where an HTTP filter can run. Sides are combined with |.
type Side uint8

// The sides (gRFC A39).
const (
	ClientSide Side = 1 << iota
	ServerSide
)

// String is "client", "server" or "client and server".
func (s Side) String() string {
	switch s {
	case ClientSide:
		return "client"
	case ServerSide:
		return "server"
	default:
		return "client and server"
	}
}

// An HTTPFilter makes an HTTP filter known (gRFC A39). Errors of its functions
// reject the resource; a [*ValidationError] keeps its own paths, below the
// filter's configuration.
type HTTPFilter struct {
	// Config is the full name of the message that configures the filter in a
	// list of filters.
	Config string
	// Override is the full name of the message that overrides the configuration
	// for a virtual host, route or weighted cluster. It may be the same message;
	// empty: nothing overrides it.
	Override string
	// Sides are where the filter can run.
	Sides Side
	// Terminal says that the filter ends a list: it must be the last one, and
	// the last one must be such a filter.
	Terminal bool
	// Parse reads and validates a configuration. What it returns must not be
	// changed; it is compared deeply, or by a method Equal.
	Parse func(dc *DecodeContext, c TypedConfig) (any, error)
	// ParseOverride does so for an override; needed where Override is given.
	ParseOverride func(dc *DecodeContext, c TypedConfig) (any, error)
}

// A ClusterSpecifier makes a cluster specifier plugin known: a route's way to
// leave the choice of the cluster to an LB policy.
type ClusterSpecifier struct {
	// Config is the full name of the message that configures it.
	Config string
	// Parse reads and validates a configuration, and says by which LB policy
	// the cluster is chosen.
	Parse func(dc *DecodeContext, c TypedConfig) (LBConfig, error)
}

// A MetadataKind makes a message known that can stand in the metadata of
// clusters, localities and endpoints (gRFC A83).
type MetadataKind struct {
	// Message is the message's full name.
	Message string
	// Parse reads and validates one.
	Parse func(dc *DecodeContext, c TypedConfig) (any, error)
}

// A CertificateProvider makes a plugin known that the bootstrap's certificate
// provider instances can be of (gRFC A29).
type CertificateProvider struct {
	// Plugin is the plugin's name in the bootstrap, such as "file_watcher".
	Plugin string
	// Check validates the configuration of an instance; nil accepts any. What it
	// says counts for good.
	Check func(config json.RawMessage) error

	checked atomic.Pointer[map[string]error] // by configuration; what is in it is not changed
}

// checkOnce is Check, called once for a configuration. There are as many as the
// program's bootstrap files have.
func (p *CertificateProvider) checkOnce(config json.RawMessage) error {
	if p.Check == nil {
		return nil
	}
	for {
		old := p.checked.Load()
		if old != nil {
			if err, ok := (*old)[string(config)]; ok {
				return err
			}
		}
		known := make(map[string]error)
		if old != nil {
			maps.Copy(known, *old)
		}
		known[string(config)] = p.Check(config)
		if p.checked.CompareAndSwap(old, &known) {
			return known[string(config)]
		}
	}
}

// An extensionKey is what an extension is found by: where it plugs in, and its
// name there.
type extensionKey struct{ point, name string }

// String is "HTTP filter acme.Filter".
func (k extensionKey) String() string { return k.point + " " + k.name }

func (k extensionKey) compare(other extensionKey) int {
	return cmp.Or(strings.Compare(k.point, other.point), strings.Compare(k.name, other.name))
}

// Where extensions plug in.
const (
	pointHTTPFilter       = "HTTP filter"
	pointLBPolicy         = "LB policy"
	pointClusterSpecifier = "cluster specifier plugin"
	pointMetadata         = "metadata"
	pointCertificates     = "certificate provider"
)

func (f *HTTPFilter) keys() []extensionKey {
	keys := []extensionKey{{pointHTTPFilter, f.Config}}
	if f.Override != "" && f.Override != f.Config {
		keys = append(keys, extensionKey{pointHTTPFilter, f.Override})
	}
	return keys
}

func (f *HTTPFilter) half() Extension { return f }

func (f *HTTPFilter) check() error {
	switch {
	case f == nil:
		return errors.New("resource: a nil HTTPFilter")
	case f.Config == "":
		return errors.New("resource: HTTPFilter.Config is empty; it must be the message's full name")
	case f.Parse == nil:
		return fmt.Errorf("resource: HTTPFilter.Parse of %s is nil", f.Config)
	case f.Override != "" && f.ParseOverride == nil:
		return fmt.Errorf("resource: HTTPFilter.ParseOverride of %s is nil", f.Config)
	case f.Sides == 0:
		return fmt.Errorf("resource: HTTPFilter.Sides of %s is 0; it must run somewhere", f.Config)
	}
	return nil
}

func (s *ClusterSpecifier) keys() []extensionKey {
	return []extensionKey{{pointClusterSpecifier, s.Config}}
}

func (s *ClusterSpecifier) half() Extension { return s }

func (s *ClusterSpecifier) check() error {
	if s == nil || s.Config == "" || s.Parse == nil {
		return errors.New("resource: a ClusterSpecifier needs Config and Parse")
	}
	return nil
}

func (k *MetadataKind) keys() []extensionKey { return []extensionKey{{pointMetadata, k.Message}} }

func (k *MetadataKind) half() Extension { return k }

func (k *MetadataKind) check() error {
	if k == nil || k.Message == "" || k.Parse == nil {
		return errors.New("resource: a MetadataKind needs Message and Parse")
	}
	return nil
}

func (p *CertificateProvider) keys() []extensionKey {
	return []extensionKey{{pointCertificates, p.Plugin}}
}

func (p *CertificateProvider) half() Extension { return p }

func (p *CertificateProvider) check() error {
	if p == nil || p.Plugin == "" {
		return errors.New("resource: a CertificateProvider needs Plugin")
	}
	return nil
}
