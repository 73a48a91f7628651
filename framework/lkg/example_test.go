package lkg_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/xdsforge/xdsforge/framework/lkg"
)

// A store returns the resources that a client had in use before the process ended. Programs pass
// Options to their Env and do not call a store themselves.
func Example() {
	parent, err := os.MkdirTemp("", "lkg")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(parent) }()
	options := lkg.Options{Dir: filepath.Join(parent, "store")}
	node, authority := lkg.Node{ID: "node-1"}, lkg.Authority{Name: "prod.example.com"}

	s, err := lkg.Open(options, node)
	if err != nil {
		fmt.Println(err)
		return
	}
	w := s.Writer(authority)
	w.SetState(true, true)
	w.Apply([]lkg.Change{{Op: lkg.Put, Resource: lkg.Resource{Type: "test.Thing", Name: "a", Body: []byte("content")}}})
	w.Close()
	fmt.Println(s.Close())

	s, err = lkg.Open(options, node)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, ok := s.Lookup(authority, "test.Thing", "a")
	fmt.Println(string(r.Body), ok)
	fmt.Println(s.Close())
	// Output:
	// <nil>
	// content true
	// <nil>
}
