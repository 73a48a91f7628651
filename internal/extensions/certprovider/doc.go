// Package certprovider has the certificate provider plugins for the instances of a
// bootstrap. It parses and validates their configurations.
package certprovider
