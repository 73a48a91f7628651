package adsserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsmodel"
	"github.com/xdsforge/xdsforge/internal/statedir"
)

// A plane is the source of an authority.
type plane struct {
	system   *system
	name     string
	store    *source.Memory
	epoch    int
	revision source.Revision
	quiet    bool               // it reports nothing
	known    bool               // it has reported its resources to the current server
	pending  []source.Operation // commits while it is quiet
	backup   map[source.Key]source.Resource
	file     map[source.Key]source.Resource // of the state directory, until the plane is known; nil: there is none
}

// own returns the resources of the plane.
func (p *plane) own() map[source.Key]source.Resource {
	own := p.system.truth.Clone()
	maps.DeleteFunc(own, func(k source.Key, _ source.Resource) bool { return p.system.planeOf(k.Name) != p })
	return own
}

// newStore fills another store with the resources, in the same epoch.
func (p *plane) newStore() {
	p.store = source.NewMemory()
	tx := new(source.Tx)
	for _, r := range p.own() {
		tx.Put(r)
	}
	p.commit(tx)
}

func (p *plane) commit(tx *source.Tx) {
	p.revision++
	versioned := new(source.Tx)
	for _, o := range tx.Operations() {
		switch {
		case o.Delete:
			versioned.Delete(o.Key)
		case p.system.axes.revisions && o.Version == "":
			o.Version = strconv.FormatUint(uint64(p.revision), 36) + "-" + source.Version(&o.Resource)
			versioned.Put(o.Resource)
		default:
			versioned.Put(o.Resource)
		}
	}
	if err := p.store.CommitAt(p.system.t.Context(), versioned, fmt.Sprint("epoch", p.epoch), p.revision); err != nil {
		p.system.t.Fatal(err)
	}
}

// take commits operations, or keeps them while the plane is quiet.
func (p *plane) take(operations []source.Operation) {
	if len(operations) == 0 {
		return
	}
	if p.quiet {
		p.pending = append(p.pending, operations...)
		return
	}
	tx := new(source.Tx)
	for _, o := range operations {
		if o.Delete {
			tx.Delete(o.Key)
			delete(p.system.truth.Resources, o.Key)
			p.system.note("delete %s", o.Key)
		} else {
			tx.Put(o.Resource)
			p.system.truth.Resources[o.Key] = o.Resource
			p.system.note("put %s %s %v %v ttl %v, expires %v", o.Key, o.Body, o.Err, o.Aliases, o.TTL, o.Expires.Unix())
		}
	}
	p.commit(tx)
	p.system.truth.Note()
}

// sleep has the plane report nothing.
func (p *plane) sleep() {
	synctest.Wait() // everything before that is known
	p.quiet = true
	p.store.SetState(source.State{})
}

// wake has the plane report its resources.
func (p *plane) wake() {
	if p.quiet {
		p.system.note("%q wakes", p.name)
		p.quiet, p.known, p.file = false, true, nil
		list := p.pending
		p.pending = nil
		p.take(list)
		p.store.SetState(source.State{Kind: source.Live})
	}
}

// event changes the state of the plane.
func (p *plane) event() {
	if p.quiet {
		if p.system.rnd.IntN(2) == 0 && !p.known {
			p.store.SetState(source.State{Kind: source.Down, Err: errors.New("no route")}) // it has reported nothing yet
			return
		}
		p.wake()
		return
	}
	switch p.system.rnd.IntN(6) {
	case 0, 1:
		p.system.note("%q is quiet", p.name)
		p.sleep()
	case 2:
		p.system.note("%q is backed up", p.name)
		p.backup = p.own()
	case 3:
		p.restore()
	case 4:
		p.store.SetState(source.State{Kind: source.Stale, Err: errors.New("late")})
	case 5:
		p.store.SetState(source.State{Kind: source.Live})
	}
}

// restore restores the backup, which begins another epoch.
func (p *plane) restore() {
	if p.backup == nil {
		return
	}
	p.system.note("%q is restored", p.name)
	var operations []source.Operation
	for k := range p.own() {
		if _, ok := p.backup[k]; !ok {
			operations = append(operations, source.Operation{Resource: source.Resource{Key: k}, Delete: true})
		}
	}
	for _, r := range p.backup {
		operations = append(operations, source.Operation{Resource: r})
	}
	p.epoch++
	p.revision = 0
	p.take(operations)
}

// source returns the source for a new server.
func (p *plane) source() (s source.Source) {
	s = p.store
	if p.system.dir != nil {
		var err error
		if s, err = p.system.dir.Source("authority "+p.name, p.store); err != nil {
			p.system.t.Fatal(err)
		}
	}
	if p.system.axes.evil && p.name == "c" {
		s = evil{s}
	}
	return s
}

// aliased reports whether a resource of the state directory has an alias.
func (p *plane) aliased(name string) bool {
	for _, r := range p.file {
		if slices.Contains(r.Aliases, name) {
			return true
		}
	}
	return false
}

// expires reports whether a resource of the state directory has an expiry, by its name, an alias or its collection.
func (p *plane) expires(url, name string) bool {
	for _, r := range p.file {
		if r.Type == url && !r.Expires.IsZero() && (r.Name == name || slices.Contains(r.Aliases, name) || collectionName(r.Name) == name) {
			return true
		}
	}
	return false
}

func (w *system) openDir() {
	w.t.Helper()
	var err error
	if w.dir, err = statedir.Open(statedir.Options{Path: w.path, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		w.t.Fatal(err)
	}
}

// restart ends the server, and starts another one. With a state directory, the sources do not answer the new server at
// first. The directory has the resources of the end of the first server, or of an earlier time.
func (w *system) restart() {
	w.t.Helper()
	w.within = true
	defer func() { w.within = false }()
	w.note("the server ends")
	early, kept := w.record()
	for _, c := range w.clients {
		c.Disconnect(context.Canceled)
	}
	if w.rnd.IntN(2) == 0 {
		w.commit() // clients do not have it
	}
	graceful := w.rnd.IntN(2) == 0
	if graceful {
		for _, p := range w.planes {
			if p.known {
				kept[p] = p.own()
			}
		}
	}
	synctest.Wait() // the recorders have the newest resources
	w.end()
	if !graceful && w.axes.stateDir {
		w.rewind(early)
	}
	for _, p := range w.planes {
		if w.axes.stateDir {
			p.file, p.known = kept[p], false
			p.newStore()
			p.sleep()
			if w.rnd.IntN(3) == 0 {
				p.wake()
			}
		} else if p.quiet {
			p.known = false
		}
	}
	w.note("another server begins")
	w.serve()
	for _, c := range w.clients {
		w.acting = c
		c.Connect()
		c.heal()
	}
	w.acting = nil
}

// record waits until the state directory has everything, and returns its files and the resources in them.
func (w *system) record() (early map[string][]byte, kept map[*plane]map[source.Key]source.Resource) {
	w.t.Helper()
	early, kept = make(map[string][]byte), make(map[*plane]map[source.Key]source.Resource)
	if !w.axes.stateDir {
		return early, kept
	}
	w.spend(3*time.Second, false) // a renewal would put the file off
	for _, p := range w.planes {
		if kept[p] = p.file; p.known {
			kept[p] = p.own()
		}
	}
	list, err := filepath.Glob(filepath.Join(w.path, "*.state"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range list {
		if early[name], err = os.ReadFile(name); err != nil {
			w.t.Fatal(err)
		}
	}
	for range w.rnd.IntN(3) {
		w.commit()
		synctest.Wait()
		for _, c := range w.clients {
			w.acting = c
			c.Drain()
		}
		w.acting = nil
	}
	return early, kept
}

// rewind has the state directory have earlier files, as after a crash.
func (w *system) rewind(files map[string][]byte) {
	w.t.Helper()
	list, err := filepath.Glob(filepath.Join(w.path, "*.state"))
	for _, name := range list {
		err = errors.Join(err, os.Remove(name))
	}
	for name, b := range files {
		err = errors.Join(err, os.WriteFile(name, b, 0o600))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// evil is a source that says things about names of other authorities.
type evil struct{ source.Source }

func (e evil) Open(ctx context.Context, sink source.Sink) (source.Session, error) {
	return e.Source.Open(ctx, evilSink{sink})
}

type evilSink struct{ source.Sink }

func (e evilSink) Apply(ch source.Change) error {
	victims := []source.Key{key(clusterURL, "a"), key(clusterURL, otherGlob+"1"), key(clusterURL, "nobody")}
	ch.Put = slices.Clone(ch.Put)
	for i := range ch.Put {
		if adsmodel.Authority(ch.Put[i].Name) == "c" {
			ch.Put[i].Aliases = append(slices.Clone(ch.Put[i].Aliases), victims[0].Name, victims[1].Name, victims[2].Name)
		}
	}
	for _, k := range victims {
		ch.Put = append(ch.Put, source.Resource{Key: k, Body: []byte(k.Name + "=evil"), Version: "evil"})
		ch.Delete = append(slices.Clone(ch.Delete), k)
		ch.Complete = append(slices.Clone(ch.Complete), source.Interest(k))
	}
	return e.Sink.Apply(ch)
}
