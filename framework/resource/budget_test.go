package resource_test

import (
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// TestReadWithoutBudget expects the default limits for a resource without a budget.
func TestReadWithoutBudget(t *testing.T) {
	set, err := resource.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	dc := &resource.DecodeContext{Types: set}
	r := dc.Read("x.Y", []byte{1 << 3, 1})
	if dc.Budget == nil || dc.Budget != dc.Arena().Budget() {
		t.Error("the resource is read without the budget of its arena")
	}
	if err := dc.Spend(1, 1<<40); err == nil {
		t.Error("a TiB is within the default limits")
	}
	var list []uint64
	for r.Next() {
		wire.Element[uint64](&list, &r)
	}
	if r.OK() {
		t.Error("the reader continues without a budget")
	}
	dc.Done("x.Y")
	if dc.Budget != nil {
		t.Error("the budget outlives the resource")
	}
}

// TestReadWithBudget expects the decoder to charge the budget of the response.
func TestReadWithBudget(t *testing.T) {
	dc := limited(t, resource.Limits{ResourceSize: 7}, nil)
	budget := dc.Budget
	r := dc.Read("x.Y", []byte{1 << 3, 1})
	var list []uint64
	for r.Next() {
		wire.Element[uint64](&list, &r)
	}
	if dc.Budget != budget || r.OK() || budget.Excess() == nil {
		t.Error("an element of 8 bytes is within a limit of 7")
	}
	dc.Done("x.Y")
	if dc.Budget != budget {
		t.Error("the budget of the response ends with the resource")
	}
}
