package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

// rich has a configuration with as many features of Envoy as a mesh commonly uses.
//
//go:embed rich.yaml
var rich string

// sidecar watches the resources that istiod has for an Envoy: beside an application ("sidecar"), or of a gateway ("router").
func (i *istiod) sidecar(ctx context.Context, kind string, v variant) (string, error) {
	if err := i.write("rich.yaml", rich); err != nil {
		return "", err
	}
	defer i.remove("rich.yaml") //nolint:errcheck // written above
	ip := "10.5.5.5"            // of an endpoint
	if kind == "router" {
		ip = "10.5.5.1"
	}
	config, err := i.bootstrap(node{ip: ip, name: "rich", kind: kind}, v, "")
	if err != nil {
		return "", err
	}
	key := "ClusterLoadAssignment outbound|80||rich" + domain
	return observe(ctx, config, change{key, "10.5.5.6", func() error {
		return i.write("rich.yaml", strings.ReplaceAll(rich, "10.5.5.6", "10.5.5.7"))
	}, "10.5.5.7"})
}

// A change is a change of a resource: its text has one string before, and another after an edit of the configuration.
type change struct {
	key    string // "type name"
	before string
	edit   func() error
	after  string
}

// observe watches everything with the profile Envoy, and a change. Each problem of a resource is an error.
func observe(ctx context.Context, config *bootstrap.Config, change change) (string, error) {
	c, err := xdsforge.New(xdsforge.WithTypes(standard.Register), xdsforge.WithProfile(xdsforge.Envoy), xdsforge.WithBootstrap(config),
		xdsforge.WithPrivateConnections(), xdsforge.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return "", err
	}
	watching, cancel := context.WithCancel(ctx)
	o := newObserver(c)
	wait := o.watch(watching)
	defer wait()
	defer c.Close()
	defer cancel()
	err = until(ctx, "all resources arrive", func() bool { return o.complete() && o.shows(change.key, change.before) })
	if err == nil {
		err = change.edit()
	}
	if err == nil {
		err = until(ctx, "the change arrives", func() bool { return o.complete() && o.shows(change.key, change.after) })
	}
	seen, problems := o.report()
	if err != nil {
		return "", fmt.Errorf("%w; %s; %s", err, seen, strings.Join(problems, "; "))
	}
	s, err := c.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	seen += fmt.Sprintf("; %d responses, %d rejected", s.Servers[0].Responses, s.Servers[0].Rejected)
	if len(problems) > 0 || s.Servers[0].Rejected > 0 {
		return "", errors.New(seen + "\n  " + strings.Join(problems, "\n  "))
	}
	return seen, nil
}
