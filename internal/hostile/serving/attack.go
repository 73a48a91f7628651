package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/internal/adsserver"
)

// An attack is the work of one hostile client, within or beyond its limits.
type attack struct {
	name  string
	scene scene
	// budget is the sum of the limits that apply, in bytes.
	budget int64
	// ends is a part of the status with which the server must end the first of the attacker's streams that ends; empty:
	// the server must end none.
	ends string
	run  func(a *attacker) error
}

// The bounds.
const (
	moreDelay   = 50 * time.Millisecond
	mostLines   = 100
	spareMemory = 16 << 20
)

// The parts of the budget of a client that attacks can use. They follow from the limits of docs/limits.md: a limit of
// memory counts as it is, and a limit of a number counts with the memory that the server charges for each. A test of the
// server measures that memory. Nothing here was measured with an attack.
const (
	request = 4 << 20                             // Limits.RequestBytes
	stream  = 16<<20 + 100_000*adsserver.NameCost // Limits.TotalBytes, and Limits.Names
	client  = 256 << 20                           // Limits.ClientBytes, of all streams
)

// memory is the bound of memory. Go's heap grows to twice its content.
func (a *attack) memory() int64 { return 2*a.budget + spareMemory }

// A result has the cost and the verdict of an attack.
type result struct {
	Outcome
	memory        int64
	before, delay time.Duration
	changes       int // that reached the victim during the attack
	lines         int
}

// missed returns the bounds that the result exceeds.
func (a *attack) missed(r result) (why []string) {
	over := func(bound string, is bool) {
		if is {
			why = append(why, bound)
		}
	}
	over("memory", r.memory > a.memory())
	over("delay", r.delay > r.before+moreDelay)
	over("victim", r.changes == 0)
	over("lines", r.lines > mostLines)
	over(fmt.Sprintf("verdict %q", a.ends), (a.ends == "") != (r.Verdict == "") || !strings.Contains(r.Verdict, a.ends))
	return why
}

// allAttacks are the rows of the table.
func allAttacks() []attack {
	return slices.Concat(
		nameAttacks(),
		globAttacks(),
		versionAttacks(),
		fieldAttacks(),
		typeAttacks(),
		answerAttacks(),
		streamAttacks(),
		loadAttacks(),
		relayAttacks(),
		httpAttacks(),
		repeatAttacks(),
		waitingAttacks(),
		unreadAttacks(),
	)
}

// find returns the attack with a name.
func find(name string) (attack, error) {
	for _, a := range allAttacks() {
		if a.name == name {
			return a, nil
		}
	}
	return attack{}, fmt.Errorf("there is no attack %q", name)
}
