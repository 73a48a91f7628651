package xdsconfig_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
)

// limited returns a watcher of the world's listener with a limit of clusters.
func (w *world) limited(c resource.Client, limit int) (limited *xdsconfig.Watcher, news chan string) {
	news = make(chan string, 1000)
	limited = xdsconfig.New(c, xdsconfig.Options{
		Listener: "l", Authority: "svc", NodeID: "n", Limit: limit, DNS: w.dns,
		Deliver: func(c *xdsconfig.Config, err error) { news <- describe(c, err) },
	})
	return limited, news
}

func names(prefix string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint(prefix, i))
	}
	return list
}

// weighted returns a virtual host whose only route has weighted clusters.
func weighted(clusters ...string) string {
	var b strings.Builder
	for _, c := range clusters {
		fmt.Fprintf(&b, "clusters { name: %q weight { value: 1 } } ", c)
	}
	return fmt.Sprintf(`virtual_hosts { domains: "svc" routes { match { prefix: "" } route { weighted_clusters { %s } } } }`, b.String())
}

// Names count wherever they occur, even if their clusters never arrive. The target gets the error
// at once.
func TestLimitCountsNamesThatNeverCome(t *testing.T) {
	for where, routes := range map[string]string{
		"routes": hosts(names("c", 100)...), "weights": weighted(names("c", 100)...), "an aggregate": hosts("all"),
		"nested aggregates": hosts("outer"),
	} {
		t.Run(where, func(t *testing.T) {
			in(t, "", func(w *world) {
				w.watcher.Close()
				limited, news := w.limited(w.client, 10)
				defer limited.Close()
				w.aggregate("outer", names("x", 3)...)
				for _, name := range names("x", 3) {
					w.aggregate(name, names(name+"-", 4)...)
				}
				w.aggregate("all", names("c", 100)...)
				w.listener(fmt.Sprintf("route_config { %s }", routes))
				limited.Start()
				w.want("a second passes")
				const want = ": error: xdsconfig: routes lead to more clusters than the limit allows: 10"
				if len(news) != 1 {
					w.t.Fatalf("%d configurations after a second; want one", len(news))
				}
				if got := <-news; got != want {
					w.t.Errorf("the configuration is %q; want %q", got, want)
				}
				if got := len(w.server.Subscribed()); got > 11 {
					w.t.Errorf("%d names are subscribed to; want 10 clusters and the listener at most", got)
				}
			})
		})
	}
}

// Clusters with calls in flight stay when the routes refer to too many others.
func TestLimitSparesHeldClusters(t *testing.T) {
	in(t, "", func(w *world) {
		w.watcher.Close()
		limited, news := w.limited(w.client, 3)
		defer limited.Close()
		w.eds("z", "")
		w.endpoints("z", 1)
		w.aggregate("y", "z")
		w.listener(fmt.Sprintf("route_config { %s }", hosts("y")))
		limited.Start()
		defer limited.Subscribe("y")()
		w.want("a second passes")
		<-news
		w.listener(fmt.Sprintf("route_config { %s }", hosts("a", "b", "y")))
		w.want("another one")
		want := "y: y=z z=[10.0.0.1:1]" + quiet + " error: xdsconfig: routes lead to more clusters than the limit allows: 3"
		if got := <-news; got != want {
			w.t.Errorf("the configuration is %q; want %q", got, want)
		}
	})
}

// Routes that change before their clusters have arrived leave no subscription behind.
func TestIncompleteTraversalsLeaveNothing(t *testing.T) {
	in(t, "", func(w *world) {
		w.rds("r")
		w.route(hosts("a"))
		w.eds("a", "")
		w.endpoints("a", 1)
		w.want("a configuration", "a: a=[10.0.0.1:1]"+quiet)
		for i := range 50 {
			w.route(hosts(fmt.Sprint("absent", i)))
			w.want("its cluster has not come")
			if got := len(w.server.Subscribed()); got > 5 {
				w.t.Fatalf("%d names are subscribed to after %d changes; want l, r, a twice and the newest", got, i+1)
			}
		}
		w.endpoints("a", 2)
		w.eds("absent49", "")
		w.endpoints("absent49", 3)
		w.want("the newest came", "absent49: absent49=[10.0.0.1:3]"+quiet)
		if got := w.subscribed(); got != "absent49 absent49 l r" {
			w.t.Errorf("subscribed: %q", got)
		}
	})
}

// Each traversal visits a cluster once, however deeply aggregates are nested and however often they
// name it. A walk along each path would take 8 to the power of 15 steps.
func TestEachTraversalVisitsAClusterOnce(t *testing.T) {
	const levels, breadth = 15, 8
	in(t, "", func(w *world) {
		var all []string
		for level := range levels {
			next := names(fmt.Sprintf("l%d-", level+1), breadth)
			for _, name := range names(fmt.Sprintf("l%d-", level), breadth) {
				all = append(all, name)
				w.aggregate(name, append(next, next...)...)
			}
		}
		leaves := names(fmt.Sprintf("l%d-", levels), breadth)
		for _, name := range leaves[1:] {
			w.eds(name, "e")
		}
		w.endpoints("e", 1)
		w.listener(fmt.Sprintf("route_config { %s }", hosts(all...)))
		w.want("a leaf has not come")
		check := func() {
			w.t.Helper()
			traversals, visits := w.watcher.Visits()
			if want := traversals * uint64(len(all)+len(leaves)); traversals < 2 || visits > want {
				w.t.Errorf("%d visits in %d traversals; want at most %d", visits, traversals, want)
			}
		}
		check()
		w.eds(leaves[0], "e")
		w.elapse()
		if got, want := strings.Join(w.last.Clusters["l0-3"].Leaves, " "), strings.Join(leaves, " "); got != want {
			w.t.Errorf("the leaves of l0-3 are %q; want %q", got, want)
		}
		check()
	})
}

// A few nested resources cannot cause an unbounded number of leaves. This includes chains, and
// cycles in which the leaves depend on the target.
func TestLeavesOfAllAggregatesAreLimited(t *testing.T) {
	for _, circle := range []string{"", "outer0"} {
		in(t, "", func(w *world) {
			w.watcher.Close()
			limited, news := w.limited(w.client, 200)
			defer limited.Close()
			inner := names("leaf", 60)
			for _, name := range inner {
				w.eds(name, "e")
			}
			w.endpoints("e", 1)
			if circle != "" {
				inner = append(inner, circle)
			}
			w.aggregate("inner", inner...)
			outer := names("outer", 80)
			for _, name := range outer {
				w.aggregate(name, "inner")
			}
			w.listener(fmt.Sprintf("route_config { %s }", hosts(outer[:40]...)))
			limited.Start()
			w.elapse()
			if got := <-news; strings.Contains(got, "error") {
				w.t.Fatalf("40 aggregates of 60 leaves: %.200s", got)
			}
			w.listener(fmt.Sprintf("route_config { %s }", hosts(outer...)))
			w.elapse()
			const want = ": error: xdsconfig: aggregate clusters have more leaves in total than the limit allows: 3200"
			if got := <-news; got != want {
				w.t.Errorf("80 aggregates of 60 leaves: %.200s; want %q", got, want)
			}
		})
	}
}

// A closingClient closes the watcher while it subscribes to a cluster.
type closingClient struct {
	resource.Base
	resource.Source

	clusters int
	closing  func()
}

func (c *closingClient) Subscribe(t *resource.Descriptor, name string, f func(next, last resource.State)) (func(), error) {
	if t.ShortName() == "Cluster" {
		c.clusters++
		if c.clusters == 3 {
			c.closing()
		}
	}
	return c.Source.Subscribe(t, name, f)
}

func (c *closingClient) ParseName(s string) (xdstp.Name, error) { return c.Source.ParseName(s) }

// Close does not wait for the end of a traversal.
func TestCloseEndsAWalk(t *testing.T) {
	for where, routes := range map[string]string{
		"routes": hosts(names("c", 5000)...), "weights": weighted(names("c", 5000)...), "an aggregate": hosts("all"),
	} {
		t.Run(where, func(t *testing.T) {
			in(t, "", func(w *world) {
				w.watcher.Close()
				c := &closingClient{Source: w.client}
				c.Base = resource.NewBase(c)
				closed := make(chan struct{})
				limited, _ := w.limited(c, 0)
				c.closing = func() {
					go func() {
						defer close(closed)
						limited.Close()
					}()
					for !limited.Closing() {
						runtime.Gosched()
					}
				}
				w.aggregate("all", names("c", 5000)...)
				w.listener(fmt.Sprintf("route_config { %s }", routes))
				limited.Start()
				<-closed
				if c.clusters != 3 {
					w.t.Errorf("the walk subscribed to %d clusters; want it to end at the third, where Close was called", c.clusters)
				}
			})
		})
	}
}
