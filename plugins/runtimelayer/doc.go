// Package runtimelayer is the resource type envoy.service.runtime.v3.Runtime (RTDS). It is
// a layer of settings, such as feature flags, that can change while a program runs.
//
// The page docs/types/runtimelayer.md lists the fields with their sources and defaults, and the rules.
package runtimelayer

//go:generate go tool xdsgen resource.yaml
