package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// runIstio tells the stories with istiod.
func runIstio(ctx context.Context, dir string, o options) error {
	i, err := newIstiod(ctx, dir)
	if err != nil {
		return err
	}
	i.verbose = o.verbose
	if err := os.WriteFile(filepath.Join(dir, "mesh.yaml"), []byte(meshConfig), 0o600); err != nil {
		return err
	}
	if err := writeNames(i); err != nil {
		return err
	}
	sockets, err := newSockets(i)
	if err != nil {
		return err
	}
	if err := i.start(ctx); err != nil {
		return err
	}
	defer i.close()
	var list []story
	for _, v := range []variant{whole, delta} {
		for _, bad := range []bool{false, true} {
			name := fmt.Sprintf("%d names, %s", manyNames, v)
			if bad {
				name += ", half bad"
			}
			list = append(list, story{name, func(ctx context.Context) (string, error) { return i.names(ctx, o.rounds, v, bad) }})
		}
	}
	for _, v := range []variant{whole, delta} { // before a story has policies for servers
		list = append(list, story{fmt.Sprintf("%d sockets, %s", manySockets, v), func(ctx context.Context) (string, error) { return sockets.starts(ctx, o.rounds, v) }})
	}
	for _, v := range []variant{whole, delta} {
		list = append(list,
			story{"a channel, " + string(v), func(ctx context.Context) (string, error) { return i.channel(ctx, v) }},
			story{"a server, " + string(v), func(ctx context.Context) (string, error) { return i.server(ctx, v) }},
		)
	}
	for _, kind := range []string{"sidecar", "router"} {
		for _, v := range []variant{whole, delta} {
			list = append(list, story{"a " + kind + ", " + string(v), func(ctx context.Context) (string, error) { return i.sidecar(ctx, kind, v) }})
		}
	}
	return tellAll(ctx, o, list)
}

// meshConfig is the configuration of the mesh.
const meshConfig = `accessLogFile: /dev/stdout
extensionProviders:
- {name: otel, opentelemetry: {service: api.example.com, port: 8080}}
- {name: als, envoyHttpAls: {service: api.example.com, port: 8080}}
- {name: authz, envoyExtAuthzGrpc: {service: api.example.com, port: 8080}}
`
