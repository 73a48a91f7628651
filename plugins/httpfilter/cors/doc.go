// Package cors parses and validates the configuration of the filter for cross-origin resource sharing of HTTP servers.
package cors
