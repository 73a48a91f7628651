// Package builtin registers the extensions that come with the framework: HTTP
// filters, LB policies, kinds of metadata and certificate providers.
package builtin
