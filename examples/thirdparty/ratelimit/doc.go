// Package ratelimit is the resource type acme.ratelimit.v1.Policy: how many calls a
// service takes.
package ratelimit

//go:generate go tool xdsgen resource.yaml
