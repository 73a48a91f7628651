package clusterimpl

import (
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/node"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// count makes the accounts of all endpoints.
func (c *Cluster) count(u *cluster.Update, priorities [][]node.Locality) {
	var keys []string
	for _, localities := range priorities {
		for i := range localities {
			for j := range localities[i].Endpoints {
				keys = append(keys, localities[i].Endpoints[j].Key())
			}
		}
	}
	c.outlier.Configure(u.OutlierDetection, keys, time.Now())
	accounts := make(map[string]*account, len(keys))
	used := make(map[endpoint.LocalityID]bool)
	for _, localities := range priorities {
		for i := range localities {
			l := &localities[i]
			used[l.ID] = true
			for j := range l.Endpoints {
				e := &l.Endpoints[j]
				a := c.account(e, c.load.locality(l.ID))
				for _, addr := range e.Addresses {
					accounts[addr.Addr] = a
				}
			}
		}
	}
	stray := account{breaker: c.breaker}
	c.conn.reassign(accounts, stray.open())
	c.load.keep(used)
	c.schedule()
}

func (c *Cluster) account(e *node.Endpoint, locality *load.Locality) *account {
	a := &account{breaker: c.breaker, load: locality, metrics: c.load.metrics()}
	if c.config.Update.OutlierDetection != nil {
		a.outlier = c.outlier.Endpoint(e.Key())
	}
	if e.Hostname != "" {
		a.authority = metadata.Pairs(":authority", e.Hostname)
	}
	return a.open()
}

// schedule sets the timer for the next outlier detection (A50).
func (c *Cluster) schedule() {
	next, ok := c.outlier.Next()
	if !ok {
		c.turn.Stop()
		return
	}
	c.turn.Set(c.around.Loop, time.Until(next), func() {
		ejected, unejected := c.outlier.Turn(time.Now())
		if len(ejected)+len(unejected) > 0 {
			c.around.State.Logger.Info("outlier detection", "cluster", printable.Text(c.name, printable.Short), "ejected", len(ejected), "unejected", len(unejected))
			c.conn.eject()
		}
		c.schedule()
	})
}
