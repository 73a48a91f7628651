package explain

import (
	"encoding/json"

	"github.com/xdsforge/xdsforge/plugins/route"
)

// A Call is the call that is explained.
type Call struct {
	// Authority is the data-plane authority of the channel.
	Authority string `json:"authority"`
	// Method is the path of the method, such as "/package.Service/Method".
	Method string `json:"method"`
	// Headers are the metadata of the call, with names in lower case.
	Headers route.Metadata `json:"headers,omitempty"`
}

// A Result is the way of a call.
type Result struct {
	Call        Call         `json:"call"`
	Listener    *Resource    `json:"listener,omitempty"`
	Routes      *Resource    `json:"route_configuration,omitempty"`
	VirtualHost *VirtualHost `json:"virtual_host,omitempty"`
	// Steps are the routes of the virtual host, in order.
	Steps []Step `json:"routes,omitempty"`
	// Outcomes are the routes that the call takes. There are several if some take a share of the calls.
	Outcomes []Outcome `json:"outcomes,omitempty"`
	// Problem is why all or some of the calls fail. Empty if they do not.
	Problem string `json:"problem,omitempty"`
}

// A Resource is a resource on the way.
type Resource struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	State   string `json:"state"`
	Version string `json:"version,omitempty"`
	Where   string `json:"where,omitempty"`
	Error   string `json:"error,omitempty"`
	// Inline is set if the resource is within the Listener.
	Inline bool `json:"inline,omitempty"`
}

// A VirtualHost is the virtual host of a call.
type VirtualHost struct {
	Name    string   `json:"name"`
	Domain  string   `json:"matching_domain"`
	Domains []string `json:"domains"`
	Number  int      `json:"number"`
	Of      int      `json:"of"`
}

// The verdicts of steps.
const (
	Taken      = "taken"
	Share      = "takes a share"
	PassedOver = "passed over"
	NotReached = "not reached"
)

// A Step is a route, and whether the call takes it.
type Step struct {
	Number  int    `json:"number"`
	Name    string `json:"name,omitempty"`
	Match   string `json:"match"`
	Verdict string `json:"verdict"`
	// Reason is why the call passes the route over.
	Reason string `json:"reason,omitempty"`
	// PerMillion is the share of all calls like this one that take the route.
	PerMillion uint32 `json:"per_million,omitempty"`
}

// An Outcome is what happens with the calls of one route.
type Outcome struct {
	Route      int       `json:"route"`
	PerMillion uint32    `json:"per_million"`
	Action     string    `json:"action"`
	Timeout    string    `json:"timeout"`
	Retry      string    `json:"retry,omitempty"`
	Hash       []string  `json:"hash,omitempty"`
	Clusters   []Cluster `json:"clusters,omitempty"`
	// Fails is why the calls fail. Empty if they do not.
	Fails string `json:"fails,omitempty"`
}

// A Filter is an HTTP filter after overrides.
type Filter struct {
	Name    string `json:"name"`
	Message string `json:"message,omitempty"`
	// Extension is the resource of the configuration, if it is not in the Listener (A104).
	Extension *Resource `json:"extension,omitempty"`
	// Off is why calls skip the filter. Empty if they pass it.
	Off string `json:"off,omitempty"`
	// Config is the configuration of the Listener or of the extension.
	Config json.RawMessage `json:"config,omitempty"`
	// OverriddenBy is the level of the override that applies: a virtual host, route or weighted
	// cluster.
	OverriddenBy string          `json:"overridden_by,omitempty"`
	Override     json.RawMessage `json:"override,omitempty"`
}

// A Cluster is a cluster that takes a share of an outcome's calls.
type Cluster struct {
	Resource
	PerMillion uint32   `json:"per_million"`
	Filters    []Filter `json:"filters,omitempty"`
	// Discovery is the way to find endpoints.
	Discovery string          `json:"discovery,omitempty"`
	LBPolicy  string          `json:"lb_policy,omitempty"`
	LBConfig  json.RawMessage `json:"lb_config,omitempty"`
	MaxCalls  uint32          `json:"max_calls,omitempty"`
	Outlier   bool            `json:"outlier_detection,omitempty"`
	TLS       bool            `json:"tls,omitempty"`
	Endpoints string          `json:"endpoints,omitempty"`
	// Leaves are the clusters of an aggregate, most preferred first.
	Leaves []Cluster `json:"leaves,omitempty"`
	// Assignment is the resource of the endpoints.
	Assignment *Resource `json:"assignment,omitempty"`
}
