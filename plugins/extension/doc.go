// Package extension is the resource type envoy.config.core.v3.TypedExtensionConfig (ECDS).
// It is the configuration of an extension, such as an HTTP filter, as a separate resource.
//
// The update does not decode the configuration, because only the extension knows its type.
//
// The page docs/types/extension.md lists the fields with their sources and defaults, and the rules.
package extension

//go:generate go tool xdsgen resource.yaml
