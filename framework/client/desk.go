package client

import (
	"sync"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A desk is the memory of a stream, with the names that are still to be dropped from it. The reader
// uses the memory while it has a response. In between, the loop may use it and drop unused updates,
// because the next response might never come.
type desk struct {
	busy   sync.Mutex // held while the memory is used; the loop never waits for it
	memory memory

	mu    sync.Mutex
	drops []drop
}

// A drop is a resource that is no longer in use.
type drop struct {
	typ  *resource.Descriptor
	name xdstp.Name
}

// drop removes a resource from the memory of the current stream. Loop only.
func (ch *channel) drop(t *resource.Descriptor, name xdstp.Name) {
	if ch.stream != nil && !ch.stream.delta {
		ch.stream.desk.drop(t, name)
	}
}

func newDesk() *desk { return &desk{memory: make(memory)} }

// drop removes a resource from the memory: now, or when the reader is done with a response.
func (d *desk) drop(t *resource.Descriptor, name xdstp.Name) {
	d.mu.Lock()
	d.drops = append(d.drops, drop{t, name})
	d.mu.Unlock()
	d.tidy()
}

// tidy carries out the drops, unless the memory is in use: then its user does so. A drop that finds
// the memory locked is carried out by the goroutine that unlocks it.
func (d *desk) tidy() {
	for d.waits() && d.busy.TryLock() {
		d.forget()
		d.busy.Unlock()
	}
}

// forget carries out the drops. d.busy is held.
func (d *desk) forget() {
	for _, x := range d.taken() {
		d.memory.forget(x.typ, x.name)
	}
}

func (d *desk) waits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.drops) > 0
}

func (d *desk) taken() []drop {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.drops
	d.drops = nil
	return list
}

// use calls f with the memory.
func (d *desk) use(f func(memory) error) error {
	d.busy.Lock()
	d.forget()
	err := f(d.memory)
	d.busy.Unlock()
	d.tidy()
	return err
}
