package main

import (
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"

	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/framework/status/dataplane"
)

// A finding is a number of facts, and the evidence of the last one.
type finding struct {
	count int
	text  string
}

func (f *finding) add(n int, text string) {
	f.count += n
	if n > 0 {
		f.text = text
	}
}

// A source finds facts in a view.
type source struct {
	name string
	find func(*view) finding
}

// resources counts the resources of CSDS that match.
func resources(scope, typ string, match func(*statusv3.ClientConfig_GenericXdsConfig) bool) source {
	return source{"CSDS", func(v *view) (f finding) {
		for _, c := range v.csds {
			for _, x := range c.GetGenericXdsConfigs() {
				if (scope == "" || c.GetClientScope() == scope) && strings.HasSuffix(x.GetTypeUrl(), typ) && match(x) {
					f.add(1, fmt.Sprintf("%s: %s %q %v %s", c.GetClientScope(), x.GetTypeUrl()[strings.LastIndexByte(x.GetTypeUrl(), '.')+1:],
						x.GetName(), x.GetClientStatus(), x.GetErrorState().GetDetails()))
				}
			}
		}
		return f
	}}
}

// metric adds up the values of a metric with all the labels.
func metric(name string, labels ...string) source {
	return source{"metric", func(v *view) (f finding) {
		for _, line := range v.metrics {
			set, value, _ := strings.Cut(strings.TrimPrefix(line, name+"{"), "} ")
			if !strings.HasPrefix(line, name+"{") || slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(set, l) }) {
				continue
			}
			if n, err := strconv.Atoi(value); err == nil {
				f.add(n, line)
			}
		}
		return f
	}}
}

// lines adds up the counts of the log lines with a message. The function count gets their attributes.
func lines(message string, count func(attrs map[string]slog.Value) int) source {
	return source{"log", func(v *view) (f finding) {
		for _, l := range v.log {
			if l.message == message {
				f.add(count(l.attrs), l.text)
			}
		}
		return f
	}}
}

// clients counts the clients that have logged a message.
func clients(message string) source {
	return source{"log", func(v *view) finding {
		known := make(map[string]bool)
		return lines(message, func(attrs map[string]slog.Value) int {
			target := attrs["target"].String()
			if known[target] {
				return 0
			}
			known[target] = true
			return 1
		}).find(v)
	}}
}

// series counts the series of a metric with a value.
func series(name, value string, labels ...string) source {
	return source{"metric", func(v *view) (f finding) {
		for _, line := range v.metrics {
			if strings.HasPrefix(line, name+"{") && strings.HasSuffix(line, "} "+value) && !slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(line, l) }) {
				f.add(1, line)
			}
		}
		return f
	}}
}

// unresolved counts the clients and types with a rejection that no accepted resource follows.
func unresolved() source {
	return source{"log", func(v *view) (f finding) {
		open := make(map[string]string)
		for _, l := range v.log {
			key := l.attrs["target"].String() + " " + l.attrs["type"].String()
			switch l.message {
			case "response rejected":
				open[key] = l.text
			case "resources accepted":
				delete(open, key)
			}
		}
		for _, text := range open {
			f.add(1, text)
		}
		return f
	}}
}

// ejected counts the ejected endpoints of all channels.
func ejected() source {
	return source{"status", func(v *view) (f finding) {
		for _, t := range v.targets {
			for e := range endpoints(t) {
				if e.Ejected {
					f.add(1, fmt.Sprintf("%s: %s ejected", t.Target, strings.Join(e.Addresses, " ")))
				}
			}
		}
		return f
	}}
}

// endpoints yields the endpoints of a channel.
func endpoints(t dataplane.Target) iter.Seq[dataplane.Endpoint] {
	return func(yield func(dataplane.Endpoint) bool) {
		for _, c := range t.Clusters {
			for _, l := range c.Leaves {
				for _, p := range l.Priorities {
					for _, loc := range p.Localities {
						for _, e := range loc.Endpoints {
							if !yield(e) {
								return
							}
						}
					}
				}
			}
		}
	}
}

// failures counts the clients that lost a server.
func failures() source {
	return perServer(func(s status.Server) bool { return s.Failures > 0 })
}

// connected counts the clients with a working stream to a server.
func connected(uri string) source {
	return perServer(func(s status.Server) bool { return s.Connected && s.Entry.URI() == uri })
}

// perServer counts the servers of all clients that match.
func perServer(match func(status.Server) bool) source {
	return source{"status", func(v *view) (f finding) {
		for _, c := range v.snapshots {
			for _, s := range c.Servers {
				if match(s) {
					f.add(1, c.Scope+": "+s.String())
				}
			}
		}
		return f
	}}
}
