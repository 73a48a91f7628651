package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/hostile/beat"
	"github.com/xdsforge/xdsforge/internal/process"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

// Times of an attack.
const (
	warmUp      = time.Second     // before the measurement of the victim without the attacker
	quiet       = 2 * time.Second // that measurement
	afterwards  = time.Second     // the measurement goes on after the last message of the attacker
	sampleEvery = 5 * time.Millisecond
	attackLimit = 2 * time.Minute
)

// stage runs one attack: with a control plane, a daemon, a victim and an attacker of its own.
func (a *attack) stage(ctx context.Context, program string) (r result, err error) {
	dir, err := os.MkdirTemp("", "hostile-serve")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is temporary
	ctx, cancel := context.WithTimeout(ctx, attackLimit)
	defer cancel()
	alive, end := context.WithCancel(ctx)
	p, err := startPlane(alive)
	if err != nil {
		end()
		return r, err
	}
	defer p.stop()
	defer end()
	d, err := a.scene.start(ctx, program, dir, p.addr)
	if err != nil {
		return r, err
	}
	defer d.stop()
	v := new(beat.Delays)
	c, err := watch(d.ads, v)
	if err != nil {
		return r, err
	}
	defer func() { _ = c.Close() }() // nothing is left to fail
	child, err := process.Start(ctx, "-attacker")
	if err != nil {
		return r, err
	}
	defer child.Stop()
	if err := child.Call("Prepare", Target{Attack: a.name, ADS: d.ads, HTTP: d.http}, nil); err != nil {
		return r, err
	}
	return a.play(ctx, d, v, child)
}

// play measures before and during the attack.
func (a *attack) play(ctx context.Context, d *daemon, v *beat.Delays, child *process.Child) (r result, err error) {
	if err := pass(ctx, warmUp); err != nil {
		return r, err
	}
	v.Restart()
	if err := pass(ctx, quiet); err != nil {
		return r, err
	}
	var changes int
	if changes, r.before = v.Read(); changes == 0 {
		return r, fmt.Errorf("no change reaches the victim; xdsd printed:\n%s", d.errors.text())
	}
	base, err := d.resident()
	if err != nil {
		return r, err
	}
	lines := d.errors.count.Load()
	stop, peak := make(chan struct{}), make(chan int64, 1)
	go func() { peak <- d.sample(stop) }()
	v.Restart()
	err = child.Call("Attack", struct{}{}, &r.Outcome)
	if err == nil {
		err = pass(ctx, afterwards)
	}
	close(stop)
	r.memory = <-peak - base
	r.changes, r.delay = v.Read()
	r.lines = int(d.errors.count.Load() - lines)
	return r, err
}

// sample returns the peak of the memory until stop is closed. It is that of the last sample if the daemon ends.
func (d *daemon) sample(stop <-chan struct{}) (peak int64) {
	ticks := time.NewTicker(sampleEvery)
	defer ticks.Stop()
	for {
		now, err := d.resident()
		if err != nil {
			return peak
		}
		peak = max(peak, now)
		select {
		case <-ticks.C:
		case <-stop:
			return peak
		}
	}
}

// pass waits.
func pass(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watch starts the victim, a client of the daemon.
func watch(ads string, d *beat.Delays) (*xdsforge.Client, error) {
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"node": {"id": "victim"}, "xds_servers": [{"server_uri": "passthrough:///%s",
		"channel_creds": [{"type": "insecure"}], "server_features": ["xds.transport.delta"]}], "authorities": {%q: {}}}`, ads, beat.Authority))
	if err != nil {
		return nil, err
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(standard.Register))
	if err != nil {
		return nil, err
	}
	if _, err := cluster.Subscribe(c, beat.Name, d.Notify); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
