// Package testpb has the messages that the tests of the generator read.
package testpb
