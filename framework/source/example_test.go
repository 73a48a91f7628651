package source_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A commit puts all its resources or none. A condition makes it fail if somebody else was faster.
func ExampleMemory() {
	ctx := context.Background()
	m := source.NewMemory()
	key := source.Key{Type: "type.googleapis.com/envoy.config.cluster.v3.Cluster", Name: "checkout"}

	first, err := m.Commit(ctx, new(source.Tx).If(key, 0).Put(source.Resource{Key: key, Body: []byte{}}))
	fmt.Println(first, err)

	_, err = m.Commit(ctx, new(source.Tx).If(key, 0).Put(source.Resource{Key: key, Body: []byte{}}))
	fmt.Println(errors.Is(err, source.ErrConflict))
	// Output:
	// 1 <nil>
	// true
}
