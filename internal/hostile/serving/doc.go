// Command serving attacks a server. Each attack has a process of its own and a daemon xdsd of its own. An honest control
// plane changes a cluster every 20 ms. A client, the victim, watches it through the daemon.
//
//	go run ./internal/hostile/serving             # every attack
//	go run ./internal/hostile/serving -run load   # attacks whose name contains "load"
//
// It runs on Linux. It prints the cost of each attack beside its bound, and exits with 1 where a bound is missed.
//
// # Columns
//
//   - wire: bytes that the attacker sent, before compression
//   - memory: resident memory of xdsd above the state before the attack, sampled every 5 ms
//   - bound: twice the budget of the attack and 16 MiB. The budget is the sum of the limits that apply: those of the
//     data that the server keeps for the attacker, and those of the requests that it reads at a time
//   - before, delay: the longest time that a change reached the victim late, before and during the attack
//   - bound: 50 ms more than before the attack
//   - lines: log lines of xdsd during the attack; at most 100
//   - verdict: how the attack ended
//
// # Adding an attack
//
// Append an [attack] to a list in attacks_*.go and name the list in allAttacks. Its function run gets an [attacker]. It
// encodes its messages first, then calls [attacker.begin], and then acts as a client.
package main
