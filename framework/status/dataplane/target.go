package dataplane

import "time"

// A Target is one gRPC channel. An idle channel has no LB tree, and is not listed.
type Target struct {
	// Target is the URI of the channel.
	Target string `json:"target"`
	// Authority is the data-plane authority, which selects the virtual host.
	Authority string    `json:"authority,omitzero"`
	Taken     time.Time `json:"taken,omitzero"`
	// State is the connectivity state of the LB tree, such as "READY". It is empty before the first
	// configuration.
	State string `json:"state,omitzero"`
	// Listener, Routes and VirtualHost are the names in the newest usable configuration, in use since
	// Updated. They are empty if there is none.
	Listener    string `json:"listener,omitzero"`
	Routes      string `json:"routes,omitzero"`
	VirtualHost string `json:"virtualHost,omitzero"`
	// Extensions are the names of the resources that configure HTTP filters (A104), in the order of the filters.
	Extensions []string  `json:"extensions,omitempty"`
	Updated    time.Time `json:"updated,omitzero"`
	// Pending says which resources the next configuration waits for. It is empty if there are none.
	Pending string `json:"pending,omitzero"`
	// Err is the last configuration error, at ErrAt. If Failing is set, calls fail with it. Otherwise a
	// later configuration is in use.
	Err     string    `json:"error,omitzero"`
	ErrAt   time.Time `json:"errorAt,omitzero"`
	Failing bool      `json:"failing,omitzero"`
	// Clusters are the clusters that calls can be sent to, ordered by name.
	Clusters []Cluster `json:"clusters,omitempty"`
}

// A Cluster is a cluster that calls can be sent to, or a cluster specifier plugin.
type Cluster struct {
	// Name is the name of the cluster as routes write it. That of a plugin starts with
	// "cluster_specifier_plugin:".
	Name string `json:"name"`
	// State is the connectivity state that calls meet.
	State string `json:"state,omitzero"`
	// Created reports whether the cluster has an LB policy. The first call creates it.
	Created bool `json:"created"`
	// BelowPlugin reports whether the LB policy of a plugin uses the cluster, and no route names it.
	BelowPlugin bool `json:"belowPlugin,omitzero"`
	// Err is the reason why the cluster is unusable.
	Err string `json:"error,omitzero"`
	// Leaves are the leaf clusters of an aggregate in order of preference (gRFC A37), or the cluster
	// itself.
	Leaves []Leaf `json:"leaves,omitempty"`
	// Policy and Waiting are the LB policies of a plugin, as those of a Priority.
	Policy  *Policy `json:"policy,omitzero"`
	Waiting *Policy `json:"waiting,omitzero"`
}

// A Leaf is a cluster that is not an aggregate.
type Leaf struct {
	Name string `json:"name"`
	// Service is the name of the EDS resource, if it is not the name of the cluster.
	Service string `json:"service,omitzero"`
	// State is the connectivity state. It is empty if the leaf was not tried.
	State string `json:"state,omitzero"`
	InUse bool   `json:"inUse"`
	// Reason says why the leaf is not in use.
	Reason string `json:"reason,omitzero"`
	// LBPolicy and LBConfig are the LB policy that the control plane configures, in gRPC's form.
	LBPolicy string `json:"lbPolicy,omitzero"`
	LBConfig string `json:"lbConfig,omitzero"`
	// Calls is the number of calls in flight, in all channels of the environment. Above MaxCalls, calls
	// fail (gRFC A32). Refused counts those of this channel.
	Calls    int64  `json:"calls"`
	MaxCalls uint32 `json:"maxCalls,omitzero"`
	Refused  uint64 `json:"refused,omitzero"`
	// Limits are the other limits of an HTTP client.
	Limits []Limit `json:"limits,omitempty"`
	Drops  []Drop  `json:"drops,omitempty"`
	// Err is the reason why the leaf is unusable. Note has the ambient errors of its resources (gRFC
	// A88), or the ID of the node.
	Err  string `json:"error,omitzero"`
	Note string `json:"note,omitzero"`
	// Priorities are the priorities of the endpoints, the best first (gRFC A56).
	Priorities []Priority `json:"priorities,omitempty"`
}

// A Limit is a circuit breaker of an HTTP client: connections, pending requests or retries.
type Limit struct {
	Name string `json:"name"`
	// Used is the number in use, by all clients of the environment, and Max the limit.
	Used int64 `json:"used"`
	Max  int64 `json:"max"`
	// Refused counts those of this client that the limit did not admit.
	Refused uint64 `json:"refused,omitzero"`
}

// A Drop is a share of calls that the control plane lets fail.
type Drop struct {
	Category   string `json:"category,omitzero"`
	PerMillion uint32 `json:"perMillion"`
	// Dropped counts the dropped calls of the channel.
	Dropped uint64 `json:"dropped"`
}

// A Priority has the endpoints of one priority.
type Priority struct {
	Number uint32 `json:"number"`
	// State is the connectivity state. It is empty if the priority was not tried.
	State string `json:"state,omitzero"`
	InUse bool   `json:"inUse"`
	// Reason says why the priority is not in use.
	Reason string `json:"reason,omitzero"`
	// Policy is the LB policy that picks, nil if there is none. Waiting is the policy that replaces it
	// as soon as it is connected.
	Policy     *Policy    `json:"policy,omitzero"`
	Waiting    *Policy    `json:"waiting,omitzero"`
	Localities []Locality `json:"localities,omitempty"`
}

// A Policy is an LB policy.
type Policy struct {
	Name  string `json:"name"`
	State string `json:"state,omitzero"`
	// Err is the reason why the configuration is unusable.
	Err string `json:"error,omitzero"`
	// Children are the policies below it, one for each locality.
	Children []Child `json:"children,omitempty"`
}

// A Child is the policy of one locality, below the policy that picks the locality, or the policy of a
// subset of the endpoints.
type Child struct {
	// Subset says that the policy has a subset of all localities' endpoints (A68).
	Subset  bool   `json:"subset,omitzero"`
	Region  string `json:"region,omitzero"`
	Zone    string `json:"zone,omitzero"`
	SubZone string `json:"subZone,omitzero"`
	// Policy and Waiting are as those of a Priority.
	Policy  *Policy `json:"policy,omitzero"`
	Waiting *Policy `json:"waiting,omitzero"`
}

// A Locality is a group of endpoints in one place.
type Locality struct {
	Region  string `json:"region,omitzero"`
	Zone    string `json:"zone,omitzero"`
	SubZone string `json:"subZone,omitzero"`
	// Weight is the locality's share of the calls of its priority.
	Weight    uint32     `json:"weight"`
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

// An Endpoint is a backend.
type Endpoint struct {
	// Addresses are in order of preference.
	Addresses []string `json:"addresses"`
	Hostname  string   `json:"hostname,omitzero"`
	// Weight is the endpoint's share of the calls of its locality.
	Weight uint32 `json:"weight"`
	// Health is the status that the control plane reports. Only endpoints that are UNKNOWN or HEALTHY
	// get calls.
	Health string `json:"health"`
	// State is the best connectivity state of the addresses. It is empty if none has a subchannel.
	State string `json:"state,omitzero"`
	// Err is the error of the last connection attempt, until one succeeds.
	Err string `json:"error,omitzero"`
	// Ejected reports whether outlier detection keeps calls away (gRFC A50).
	Ejected bool `json:"ejected,omitzero"`
	// Calls is the number of calls in flight.
	Calls int64 `json:"calls"`
}
