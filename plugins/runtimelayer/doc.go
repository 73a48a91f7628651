// Package runtimelayer is the resource type envoy.service.runtime.v3.Runtime
// (RTDS): a layer of settings that may change while a program runs, as feature
// flags do.
package runtimelayer

//go:generate go tool xdsgen resource.yaml
