// Package fallback decides which of an authority's servers is in use.
//
// A bootstrap file gives an authority an ordered list of servers. By gRFC A71, the client uses the
// next server when it cannot reach the current one and a watched resource is not cached. It returns
// to an earlier server with that server's first response. In between, it stays subscribed at the
// earlier servers. Later responses of a worse server are ignored.
//
// A [Machine] only decides. Its owner reports events of the servers by their position in the list.
// The machine returns which servers to use and whose responses count.
package fallback
