// Package misuse has tests of mistakes that must not compile: an update of one resource
// type where another is expected, a server's option for a client.
package misuse
