// Package headermutation parses and validates the configuration of the filter that changes headers of requests and
// responses of HTTP servers.
package headermutation
