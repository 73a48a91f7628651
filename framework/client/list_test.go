package client

import (
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A callback that had begun when the list dropped its member, or took it in anew, says
// nothing of the list any longer.
func TestLateCallbackOfAMember(t *testing.T) {
	name, err := xdstp.Parse("xdstp://e/test.Thing/far")
	if err != nil {
		t.Fatal(err)
	}
	o := &listSubscription{box: newBox(&Client{}), located: make(map[xdstp.Name]*locatedMember)}
	old, fresh := &locatedMember{list: o, name: name}, &locatedMember{list: o, name: name}
	tells := func(m *locatedMember) bool {
		m.notify(resource.State{Err: resource.ErrTransport}, resource.State{})
		_, news := o.take()
		clear(o.told)
		return news
	}
	o.located[name] = old
	if !tells(old) {
		t.Error("a member is not told of")
	}
	delete(o.located, name)
	if tells(old) {
		t.Error("a member that was dropped came back")
	}
	o.located[name] = fresh
	if tells(old) || !tells(fresh) {
		t.Error("want to be told by the member that the list has now")
	}
}
