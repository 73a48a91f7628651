// Command hostile attacks the client. A hostile control plane sends one kind of bad content in each
// attack. The client has its own process. It watches resources of the hostile control plane and of
// a second, honest one.
//
//	go run ./internal/hostile              # every attack
//	go run ./internal/hostile -run regex   # attacks whose name contains "regex"
//
// It prints the cost of each attack beside its bound, and exits with 1 where a bound is
// missed.
//
// # Columns
//
//   - wire: bytes that the hostile control plane sent
//   - peak: heap objects and stacks (runtime/metrics) above the state before the attack,
//     sampled every 5 ms, without GOMEMLIMIT
//   - rss: resident memory above the state before the attack
//   - kept: heap in use after garbage collection, above the state before the attack, once
//     the content was rejected, unwatched or replaced
//   - cpu: processor time of the client's process until it answered
//   - delay: the longest time that an update of the second control plane was late
//   - verdict: whether the client accepted the last response, or why not
//
// # Adding an attack
//
// Append an [attack] to a list in attacks_*.go and name the list in allAttacks. Its
// function run gets a [scene] and acts as the control plane: it sends responses and waits
// for answers. The client's watches are declared beside it.
package main
