// Package standard registers the resource types that every xDS client needs:
// listeners, routes, clusters and endpoints.
package standard
