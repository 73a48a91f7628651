// Package files is a [source.Source] of resources in a directory, for local development, tests, GitOps
// and machines without a control plane.
//
// A program needs no code for it. A bootstrap whose server entry has a file URI is enough:
//
//	{"xds_servers": [{"server_uri": "file:///etc/xds"}]}
//
// The directory contains files such as
//
//	"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
//	name: checkout
//	type: EDS
//	eds_cluster_config: {eds_config: {ads: {}}}
//
// # Files
//
// A file has one resource, a list of resources, or a DiscoveryResponse. A message without a name
// field is wrapped in an envoy.service.discovery.v3.Resource, which can also give a resource aliases
// and a TTL. The formats are YAML (.yaml, .yml; several documents are allowed), JSON (.json), text
// (.textproto, .txtpb) and binary (.pb); the last two contain a DiscoveryResponse. Other files are
// ignored, and so are names that begin with a dot. Directories are read with all directories below.
//
// # Changes
//
// The directory is polled. A set of files is applied only if two looks at the directory, before
// and after reading, agree. A file counts as complete once it has not changed for [Options.Quiet] by
// the clock of this process. Writers should move a complete file into place, as Envoy demands of them.
// [Options.MovesOnly] enforces that: a file that is changed in place is not read. For a Kubernetes
// ConfigMap, the directory "..data" is read, which Kubernetes swaps atomically.
//
// # Errors
//
// The decoders of the resource types validate every resource. A file with an invalid resource keeps
// the resources of its last valid version. The error names the position:
//
//	clusters.yaml:4:3: eds_cluster_config.service_name; must be set …
//
// A resource that an invalid file names gets this error if it has no valid version: its watches report
// the error, and not that the resource does not exist. Other resources are not affected.
//
// A file may have resources whose names are not known, because its syntax is broken, it cannot be read,
// or a resource has no name. As long as such a file has no valid version, no resource is deleted. If it
// is there when the directory is opened, the directory is [source.Stale]: other names are unavailable,
// and collections are not answered.
//
// A directory that cannot be read, and one without resource files, is [source.Down]: a failure of the
// connection. To have no resources, use a file with an empty list.
package files
