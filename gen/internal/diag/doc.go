// Package diag is how the generator says what is wrong with a descriptor: every
// fault with its position, a stable code and, where one is near, a suggestion.
//
// # Text
//
// A diagnostic prints on one line, in the form that editors and CI systems make
// clickable:
//
//	plugins/cluster/resource.yaml:14:9: unknown field "service_nam" in Cluster.EdsClusterConfig (did you mean "service_name"?) [XG012]
//
// # Order
//
// An [Errors] reports everything that was found, sorted by file, line, column and
// code, so that two runs over the same descriptor print the same.
//
// # Codes
//
// [Codes] is the table of codes. A code keeps its meaning for ever; one that is
// no longer used is not given to another fault.
package diag
