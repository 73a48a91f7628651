// Package extauthz parses and validates the configuration of the filter for external authorization (gRFC A92). It also
// reads the responses of authorization servers. Package grpcxds/httpfilter/extauthz runs the filter.
package extauthz
