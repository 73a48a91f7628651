// Package builtin registers the extensions that are part of the framework: HTTP filters, LB
// policies, kinds of metadata and certificate providers.
package builtin
