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

// An Extension is code for one kind of configuration that resources carry: an [*HTTPFilter], an
// [*LBPolicy], a [*ClusterSpecifier], a [*MetadataKind], a [*CertificateProvider] or an
// [*InputMatcher]. Programs register extensions beside the types. Both are frozen together and never
// change afterwards. Several goroutines call an extension's functions. A struct that embeds a pointer
// to one of these types is an extension too: packages that run HTTP filters and certificate providers
// add their code in this way.
type Extension interface {
	// keys returns the keys under which the extension is registered.
	keys() []extensionKey
	// check returns an error if the extension lacks a required field.
	check() error
	// half returns the extension that reads configurations. For a struct that embeds an extension
	// and adds code that runs, it is the embedded one.
	half() Extension
}

// Side is a side on which an HTTP filter can run. Sides are combined with |.
type Side uint8

// The sides (gRFC A39).
const (
	ClientSide Side = 1 << iota
	ServerSide
)

// String returns "client", "server" or "client and server".
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

// An HTTPFilter registers an HTTP filter (gRFC A39). An error of its functions rejects the
// resource. The paths of a [*ValidationError] are relative to the filter's configuration.
type HTTPFilter struct {
	// Config is the full name of the message that configures the filter in a list of filters.
	Config string
	// Override is the full name of the message that overrides the configuration for a virtual host,
	// route or weighted cluster. It may be the same message. If it is empty, the configuration
	// cannot be overridden.
	Override string
	// Sides are the sides on which the filter can run.
	Sides Side
	// Terminal marks a filter that ends a list. The last filter of a list must be terminal, and no
	// other one may be.
	Terminal bool
	// Parse reads and validates a configuration. Nobody may change its result. Results are compared
	// deeply, or by a method Equal.
	Parse func(dc *DecodeContext, c TypedConfig) (any, error)
	// ParseOverride reads and validates an override. It is required if Override is set.
	ParseOverride func(dc *DecodeContext, c TypedConfig) (any, error)
}

// A ClusterSpecifier registers a cluster specifier plugin. With it, a route leaves the choice of
// the cluster to an LB policy.
type ClusterSpecifier struct {
	// Config is the full name of the message that configures the plugin.
	Config string
	// Parse reads and validates a configuration. It returns the LB policy that chooses the cluster.
	Parse func(dc *DecodeContext, c TypedConfig) (LBConfig, error)
}

// A MetadataKind registers a message that may appear in the metadata of clusters, localities and
// endpoints (gRFC A83).
type MetadataKind struct {
	// Message is the full name of the message.
	Message string
	// Parse reads and validates a message.
	Parse func(dc *DecodeContext, c TypedConfig) (any, error)
}

// A CertificateProvider registers a plugin for the certificate provider instances of the bootstrap
// (gRFC A29).
type CertificateProvider struct {
	// Plugin is the plugin's name in the bootstrap, such as "file_watcher".
	Plugin string
	// Check validates the configuration of an instance. Nil accepts any. The result is cached
	// permanently.
	Check func(config json.RawMessage) error

	checked atomic.Pointer[map[string]error] // by configuration; the maps are never changed
}

// checkOnce calls Check once for each configuration. The number of configurations is bounded by
// those in the program's bootstrap files.
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

// An extensionKey identifies an extension: its extension point, and its name there.
type extensionKey struct{ point, name string }

// String returns a text such as "HTTP filter acme.Filter".
func (k extensionKey) String() string { return k.point + " " + k.name }

func (k extensionKey) compare(other extensionKey) int {
	return cmp.Or(strings.Compare(k.point, other.point), strings.Compare(k.name, other.name))
}

// The extension points.
const (
	pointHTTPFilter       = "HTTP filter"
	pointLBPolicy         = "LB policy"
	pointClusterSpecifier = "cluster specifier plugin"
	pointMetadata         = "metadata"
	pointCertificates     = "certificate provider"
	pointInputMatcher     = "input matcher"
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
