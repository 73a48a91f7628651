package relay

import (
	"context"
	"strings"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/serve"
)

// AddLoad adds a load report of a downstream client to the reports that the relay's own client sends upstream (LRS).
// Use it as the function of [serve.WithLoad]:
//
//	serve.New(types, map[string]source.Source{"": r}, serve.WithLoad(30*time.Second, r.AddLoad))
//
// Upstream receives the sums of all clients: calls, drops and endpoint metrics by cluster and locality, under the node of
// the relay. All streams of a client share the limits of the client. The load of a cluster goes to the server in use of the authority of its name. Load of an authority without a
// server in use is not reported.
func (r *Relay) AddLoad(x serve.LoadReport) {
	if x.Stream == nil || x.Stream.Err() != nil {
		return
	}
	var summary status.Snapshot
	if !r.routed(x.Clusters) && r.looks(time.Now()) {
		var err error
		if summary, err = r.client.Summary(x.Stream); err != nil {
			return // the stream or the client has ended
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if len(summary.Authorities) > 0 {
		r.route(&summary)
	}
	byServer := make(map[string][]*endpointv3.ClusterStats)
	for _, c := range x.Clusters {
		if server := r.servers[authorityOf(c.GetClusterName())]; server != nil {
			byServer[server.Key()] = append(byServer[server.Key()], c)
		} else {
			r.unreported++
		}
	}
	for key, clusters := range byServer {
		if reporter := r.reporter(&x, key); reporter != nil {
			reporter.Add(clusters)
		}
	}
}

// maxLooks is the limit of looks at the state of the client in a second. Only the first load of an authority needs one.
const maxLooks = 10

// looks reports whether a report may look at the state of the client. Otherwise, load of unknown authorities would cost
// more than other load.
func (r *Relay) looks(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.lookedSince) >= time.Second {
		r.lookedSince, r.looked = now, 0
	}
	r.looked++
	return r.looked <= maxLooks
}

// routed reports whether the servers of all clusters are known.
func (r *Relay) routed(clusters []*endpointv3.ClusterStats) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range clusters {
		if r.servers[authorityOf(c.GetClusterName())] == nil {
			return false
		}
	}
	return true
}

// A streamLoad is the load of one stream of a downstream client.
type streamLoad struct {
	client    *clientLoad
	reporters map[string]*load.Reporter // by key of the server
}

// A clientLoad bounds the load of all streams of a downstream client.
type clientLoad struct {
	name    string // "": a stream whose client is not known, and which is a client of its own
	bounds  load.Client
	streams int
}

// clientOf returns the bounds of a client for one more stream. r.mu is held.
func (r *Relay) clientOf(name string) *clientLoad {
	c := r.clients[name]
	if c == nil {
		c = &clientLoad{name: name}
	}
	if name != "" {
		r.clients[name] = c
	}
	c.streams++
	return c
}

// reporter returns the reporter of a stream to a server, or nil if the client is closed. r.mu is held.
func (r *Relay) reporter(x *serve.LoadReport, key string) *load.Reporter {
	stream := x.Stream
	s := r.loads[stream]
	if s == nil {
		s = &streamLoad{client: r.clientOf(x.Client), reporters: make(map[string]*load.Reporter)}
		r.loads[stream] = s
		context.AfterFunc(stream, func() { r.endLoad(stream) })
	}
	if s.reporters[key] == nil {
		store, err := r.client.LoadStore(r.entries[key])
		if err != nil {
			return nil
		}
		s.reporters[key] = store.ReporterOf(&s.client.bounds)
	}
	return s.reporters[key]
}

// endLoad ends the load of a stream.
func (r *Relay) endLoad(stream context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.loads[stream]
	if s == nil {
		return // the relay is closed
	}
	for _, x := range s.reporters {
		x.Close()
	}
	delete(r.loads, stream)
	s.client.streams--
	if s.client.streams == 0 {
		delete(r.clients, s.client.name)
	}
}

// An authority is that of a name: of an xdstp name, or of all old-style names.
type authority struct {
	name string
	old  bool
}

func authorityOf(name string) authority {
	if strings.HasPrefix(name, "xdstp:") {
		if n, err := xdstp.Parse(name); err == nil {
			return authority{name: n.Authority()}
		}
	}
	return authority{old: true}
}

// route notes the servers in use, for load reports. Load of servers that are not in use any longer ends. r.mu is held.
func (r *Relay) route(s *status.Snapshot) {
	r.servers, r.entries = make(map[authority]*bootstrap.Server), make(map[string]*bootstrap.Server)
	for i := range s.Authorities {
		if a := &s.Authorities[i]; a.Active != nil && !a.Stored {
			r.servers[authority{a.Name, a.OldStyle}] = a.Active
			r.entries[a.Active.Key()] = a.Active
		}
	}
	for _, s := range r.loads {
		for key, x := range s.reporters {
			if r.entries[key] == nil {
				x.Close()
				delete(s.reporters, key)
			}
		}
	}
}
