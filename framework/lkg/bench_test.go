package lkg

import (
	"fmt"
	"testing"
)

// BenchmarkOpen opens a store with 20,000 resources of 1 kB.
func BenchmarkOpen(b *testing.B) {
	o := filled(b)
	for b.Loop() {
		s, err := Open(o, thisNode)
		if err != nil {
			b.Fatal(err)
		}
		_ = s.Close()
	}
}

// BenchmarkWrite writes a generation of 20,000 resources of 1 kB.
func BenchmarkWrite(b *testing.B) {
	s, err := Open(filled(b), thisNode)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	a := s.authorities[oldStyle.String()]
	for b.Loop() {
		s.write(a)
	}
	b.SetBytes(a.size)
}

// BenchmarkApply passes 200 changes of 20,000 resources to the store.
func BenchmarkApply(b *testing.B) {
	s, err := Open(filled(b), thisNode)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	w := s.Writer(oldStyle)
	w.SetState(true, false)
	changes := make([]Change, 200)
	for n := 0; b.Loop(); n++ {
		for i := range changes {
			changes[i] = put(fmt.Sprint("name-", (n*len(changes)+i)%20_000), fmt.Sprint(n))
		}
		w.Apply(changes)
	}
}

// filled returns the options of a store with 20,000 resources of 1 kB.
func filled(b *testing.B) Options {
	b.Helper()
	o := Options{Dir: b.TempDir() + "/lkg"}
	s, err := Open(o, thisNode)
	if err != nil {
		b.Fatal(err)
	}
	w := s.Writer(oldStyle)
	changes := make([]Change, 20_000)
	for i := range changes {
		changes[i] = put(fmt.Sprint("name-", i), fmt.Sprintf("%1000d", i))
		changes[i].Version = "1"
	}
	w.Apply(changes)
	w.Close()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return o
}
