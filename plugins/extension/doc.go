// Package extension is the resource type envoy.config.core.v3.TypedExtensionConfig
// (ECDS): the configuration of an extension, as of an HTTP filter, apart from what
// uses it.
//
// The message within is left as it is: only the extension knows its type.
package extension

//go:generate go tool xdsgen resource.yaml
