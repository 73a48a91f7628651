// Package composite parses and validates the configuration of the composite filter (gRFC A103), which chooses other HTTP
// filters for each call by a matcher (gRFC A106). Package grpcxds/httpfilter/composite runs the filter for gRPC
// calls, and package httpxds runs it for HTTP requests.
package composite
