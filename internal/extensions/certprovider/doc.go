// Package certprovider has the certificate provider plugins that instances in a
// bootstrap can be of: their configurations, validated.
package certprovider
