// Package gcpauthn is the GCP authentication filter of clients (gRFC A83): its
// configuration, and the kind of metadata by which a cluster says for whom tokens
// are made.
package gcpauthn
