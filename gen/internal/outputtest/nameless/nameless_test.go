package nameless

import (
	"errors"
	"testing"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/publish"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestWrapper(t *testing.T) {
	m := &testpb.Nameless{Value: 4}
	if _, err := plugintest.Decode(t, Type(), "", m); err == nil {
		t.Error("a message without a name was decoded without one")
	}
	u, err := plugintest.Decode(t, Type(), "n", m)
	if err != nil {
		t.Fatal(err)
	}
	if got := u.(*Update); got.Value != 4 || got.Name().String() != "n" {
		t.Errorf("update = %d, name %q", got.Value, got.Name())
	}
}

// The functions that change a store take the name that the message lacks.
func TestPublish(t *testing.T) {
	store, m := source.NewMemory(), &testpb.Nameless{Value: 4}
	tx := new(publish.Tx)
	if err := AddTo(tx, "b", m); err != nil {
		t.Fatal(err)
	}
	_, put := Put(t.Context(), store, "a", m)
	_, committed := store.Commit(t.Context(), tx)
	_, deleted := Delete(t.Context(), store, "a")
	if err := errors.Join(put, committed, deleted); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": false, "b": true} {
		if _, _, ok := store.Get(publish.Key{Type: Type().URL(), Name: name}); ok != want {
			t.Errorf("%s is in the store: %t, want %t", name, ok, want)
		}
	}
}
