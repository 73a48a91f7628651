// Package extproc parses and validates the configuration of the filter for external processing (gRFC A93). Package
// grpcxds/httpfilter/extproc runs the filter.
package extproc
