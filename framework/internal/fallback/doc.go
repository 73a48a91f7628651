// Package fallback decides which of an authority's servers is in use.
//
// A bootstrap file gives an authority an ordered list of servers. gRFC A71 says
// when the next one is used: when the one in use cannot be reached and something
// that is watched is not cached. It says when an earlier one is used again: with
// its first response. In between, the earlier servers are still asked, and
// whatever a later one says after that is too late.
//
// A [Machine] only decides. It is told what happens to the servers, by their
// position in the list, and answers which of them are to be used and whose word
// counts.
package fallback
