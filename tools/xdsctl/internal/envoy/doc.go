// Package envoy links the messages of Envoy and of xDS, so that their names resolve in any
// configuration.
package envoy

//go:generate go test -count=1 -run TestMessages . -args update
