// Package runtimelayer is the resource type envoy.service.runtime.v3.Runtime (RTDS). It is
// a layer of settings, such as feature flags, that can change while a program runs.
package runtimelayer

//go:generate go tool xdsgen resource.yaml
