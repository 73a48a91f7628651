// Package gcpauthn parses and validates the configuration of the GCP authentication filter
// for clients (gRFC A83). It also has the kind of cluster metadata that names the audience
// of the tokens.
package gcpauthn
