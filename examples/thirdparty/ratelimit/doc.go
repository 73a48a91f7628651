// Package ratelimit is the resource type acme.ratelimit.v1.Policy: the rate limits of a
// service.
package ratelimit

//go:generate go tool xdsgen resource.yaml
