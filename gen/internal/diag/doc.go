// Package diag has the diagnostics with which the generator reports errors in a descriptor.
// Each has a position, a stable code and, if there is a similar name, a suggestion.
//
// # Text
//
// A diagnostic prints on one line, in a form that editors and CI systems link:
//
//	plugins/cluster/resource.yaml:14:9: unknown field "service_nam" in Cluster.EdsClusterConfig (did you mean "service_name"?) [XG012]
//
// # Order
//
// An [Errors] is sorted by file, line, column and code. Two runs over the same
// descriptor print the same text.
//
// # Codes
//
// The comment of a [Code] is its meaning, which never changes. A code that is no longer used is
// not assigned to another error. A test of package descriptor writes the codes to the reference
// of the language.
package diag
