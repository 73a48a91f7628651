// Package metadata has the kinds of metadata that belong to no filter.
package metadata
