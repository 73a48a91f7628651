package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// A victim is the process with the client. It is given commands, a line each, and
// answers each with a line of JSON.
type victim struct {
	client *client.Client
	second delays
	caller caller
	meter  meter
	ends   []func()
}

// An order is a command of the attacker to the victim.
type order struct {
	// Do is "watch", "unwatch", "start", "end" or "kept", or one of a [caller]: "dial", "call",
	// "hang up", "count" or "counted".
	Do         string
	Message    string `json:",omitempty"`
	Name       string `json:",omitempty"`
	Collection bool   `json:",omitempty"`
}

// A reading has the victim's measurements.
type reading struct {
	Error     string `json:",omitempty"`
	Text      string `json:",omitempty"` // of the status of a call
	Peak, RSS int64
	Kept      int64
	CPU       time.Duration
	Delay     time.Duration
	Updates   int // of the second authority, since start
}

// secondAuthority is the name of the honest control plane's authority.
const secondAuthority = "second"

var secondName = "xdstp://" + secondAuthority + "/" + clusterMessage + "/beat"

// serveVictim is the victim's process.
func serveVictim(_ context.Context, hostile, second string, delta bool, in io.Reader, out io.Writer) error {
	v := new(victim)
	if err := v.open(hostile, second, delta); err != nil {
		return err
	}
	defer func() { _ = v.client.Close() }()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		r, err := v.obey(o) //nolint:contextcheck // ends with the client
		if err != nil {
			r.Error = err.Error()
		}
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", b); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (v *victim) open(hostile, second string, delta bool) error {
	server := func(uri string, features ...any) []bootstrap.ServerSpec {
		return []bootstrap.ServerSpec{{URI: uri, ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}, Features: features}}
	}
	spec := bootstrap.Spec{Node: &corev3.Node{Id: "hostile"}, Servers: server(hostile)}
	if delta {
		spec.Servers = server(hostile, feature.TransportDelta)
	}
	spec.Authorities = map[string]bootstrap.AuthoritySpec{
		secondAuthority: {Servers: server(second)},
		"":              {Servers: spec.Servers},
	}
	config, err := bootstrap.New(spec)
	if err != nil {
		return err
	}
	reg := registry.New()
	standard.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		return err
	}
	v.caller.config = config
	if v.client, err = client.New(config, types, client.Options{}); err != nil {
		return err
	}
	_, err = cluster.Subscribe(v.client, secondName, v.second.notify)
	return err
}

func (v *victim) obey(o order) (r reading, err error) {
	switch o.Do {
	case "watch":
		err = v.watch(o)
	case "unwatch":
		for _, end := range v.ends {
			end()
		}
		v.ends = nil
	case "start":
		v.second.restart()
		v.meter.start()
	case "end":
		r.Peak, r.RSS, r.CPU = v.meter.end()
		r.Updates, r.Delay = v.second.read()
	case "kept":
		r.Kept = v.meter.kept()
	default:
		return v.caller.obey(v, o)
	}
	return r, err
}

func (v *victim) watch(o order) error {
	t, err := resource.Find(v.client, o.Message)
	if err != nil {
		return err
	}
	if !o.Collection {
		cancel, err := t.Subscribe(v.client, o.Name, func(resource.Event[resource.Update]) {})
		v.ends = append(v.ends, cancel)
		return err
	}
	obs, err := v.client.ObserveCollection(resource.Describe(t), o.Name)
	if err != nil {
		return err
	}
	v.ends = append(v.ends, obs.Stop)
	go func() {
		for {
			if _, err := obs.Next(context.Background()); err != nil {
				return
			}
		}
	}()
	return nil
}

// delays watches the second authority's resource, whose version is the time at which it
// was sent.
type delays struct {
	mu      sync.Mutex
	count   int
	longest time.Duration
	last    time.Time
}

// notify takes an event.
func (d *delays) notify(ev cluster.Event) {
	if ev.Err != nil || !ev.Changed {
		return
	}
	sent, err := strconv.ParseInt(ev.Update.Version(), 10, 64)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count++
	d.last = time.Unix(0, sent)
	d.longest = max(d.longest, time.Since(d.last))
}

func (d *delays) restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count, d.longest, d.last = 0, 0, time.Now()
}

// read is the number of updates, and the longest delay of one or of the one to come.
func (d *delays) read() (count int, longest time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count, max(d.longest, time.Since(d.last)-beatEvery)
}
