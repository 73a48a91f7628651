package authority_test

import (
	"fmt"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

type printer struct{}

// Notify implements [authority.Watcher].
func (printer) Notify(s resource.State) { fmt.Println("told:", s.Update, s.Err) }

// A resource that was asked for and does not come does not exist.
func ExampleMachine() {
	server, _ := bootstrap.ParseServer([]byte(`{"server_uri": "xds.example:443", "channel_creds": [{"type": "insecure"}]}`))
	clusters := resource.Describe(cluster.Type())
	types, _ := resource.NewSet(clusters)
	m := authority.New(authority.Config{Types: types, Servers: []*bootstrap.Server{server}, NodeID: "web-1"})
	name, _ := xdstp.Parse("checkout")
	now := time.Now()

	m.Watch(m.Handle(clusters, name), printer{}, now)
	m.Requested(0, ads.Names{Type: clusters, Names: []string{"checkout"}}, now)
	m.Ready() // has the subscription to checkout
	for at, ok := m.NextDeadline(); ok; at, ok = m.NextDeadline() {
		fmt.Println("after", at.Sub(now))
		m.Tick(at)
		ready := m.Ready()
		for _, c := range ready.Changes {
			if c.Op == ads.Repeat {
				fmt.Println("request again:", c.Name)
			}
		}
		for _, n := range ready.Notices {
			n.Deliver()
		}
	}
	// Output:
	// after 7.5s
	// request again: checkout
	// after 15s
	// told: <nil> Cluster "checkout": does not exist: the control plane did not send it in time after it was asked for [server xds.example:443, node web-1]
}
