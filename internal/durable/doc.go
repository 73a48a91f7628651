// Package durable has the parts that stores of resources on disk share: a directory that only its user can write
// to, files that a crash leaves whole, their format with a checksum or encryption, and a search for secrets.
package durable
