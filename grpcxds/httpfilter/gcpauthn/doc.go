// Package gcpauthn is the HTTP filter for clients that sends identity tokens of a GCP service account with calls
// (gRFC A83). The metadata of the call's cluster names the audience of the token.
package gcpauthn
