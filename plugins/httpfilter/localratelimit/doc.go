// Package localratelimit parses and validates the configuration of the local rate limit filter for HTTP servers.
package localratelimit
