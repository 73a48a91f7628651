// Package composite has the composite filter for gRPC calls on channels and servers (gRFC A103). A matcher chooses the filters of
// each call by its headers, and by CEL if the program links that (gRFC A106). A call without a match fails with UNAVAILABLE.
//
// The filters of an action live as those of a list do: their instances survive updates that keep the place of the action in
// the matcher, the name of the filter and the message of its configuration.
package composite
