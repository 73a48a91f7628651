package adsserver

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsmodel"
)

const (
	cGlob       = "xdstp://c/envoy.config.cluster.v3.Cluster/dir/"
	budgetNames = 8
)

// longName is longer than the limit of names, if that is an axis.
var longName = strings.Repeat("n", 81)

// universe has the names of each type that resources have. Aliases have no resource of their own.
func systemNames(url string) (names, aliases []string) {
	switch url {
	case clusterURL:
		return []string{"a", "b", "c", otherGlob + "1", otherGlob + "2", cGlob + "1"}, []string{"x", "y", otherGlob + "x", "nobody"}
	case endpointURL:
		return []string{"a", "b", "c"}, nil
	}
	return []string{"r", "s"}, nil
}

func systemUniverse() (list []source.Key) {
	for _, url := range []string{clusterURL, endpointURL, routeURL} {
		names, aliases := systemNames(url)
		for _, n := range slices.Concat(names, aliases, []string{source.Wildcard, otherGlob + "*", cGlob + "*", longName}) {
			list = append(list, key(url, n))
		}
	}
	return list
}

// A customer is a client of the system.
type customer struct {
	*adsmodel.Client
	system *system
	allow  map[string]bool // by type and authority; nil: everything is allowed
	budget *Budget
}

func newCustomer(w *system, i int, delta bool) *customer {
	c := &customer{system: w}
	c.Client = &adsmodel.Client{
		T: w.t, Name: fmt.Sprintf("client %d", i), Delta: delta, Habit: adsmodel.Habit(w.rnd.IntN(4)),
		Complete: func(url string) bool { return url == clusterURL },
		Told:     c.told, Refused: c.refused, Open: c.open, Ordered: func() bool { return !w.quiet() },
		Exists: func(url, name string) bool { return !w.truth.WasAbsent(key(url, name)) },
	}
	if w.axes.limit == "client" {
		c.budget = &Budget{Names: budgetNames, Bytes: 1 << 20}
		if i > 0 && i%2 == 1 {
			c.budget = w.clients[i-1].budget // two streams of one client
		}
	}
	if w.axes.permissions {
		c.permit()
	}
	c.Connect()
	return c
}

func (c *customer) open() (adsmodel.Stream, error) {
	allow := c.allow
	o := StreamOptions{Delta: c.Delta, Budget: c.budget}
	if allow != nil {
		o.Allow = func(url, name string) bool { return allow[url+adsmodel.Authority(name)] }
	}
	return c.system.core.OpenStream(o)
}

func (c *customer) allowed(url, name string) bool {
	return c.allow == nil || c.allow[url+adsmodel.Authority(name)]
}

// permit changes the permissions.
func (c *customer) permit() {
	c.allow = make(map[string]bool)
	for _, url := range []string{clusterURL, endpointURL, routeURL} {
		for _, authority := range []string{"", "b", "c"} {
			c.allow[url+authority] = c.system.rnd.IntN(4) > 0
		}
	}
	c.Note("permissions %v", c.allow)
}

// refused judges the end of a stream: only a client above the limit is refused.
func (c *customer) refused(err error) bool {
	var limit *LimitError
	n := c.Count(c.allowed)
	n.Collections += n.Denied // those of one request count
	return errors.As(err, &limit) && c.exceeds(n)
}

// over reports whether the client exceeds the limit of the system.
func (c *customer) over() bool { return c.exceeds(c.Count(c.allowed)) }

func (c *customer) exceeds(n adsmodel.Count) bool {
	switch l := c.system.limits(); c.system.axes.limit {
	case "names":
		return n.Names > l.Names
	case "collections":
		return n.Collections > l.Collections
	case "types":
		return n.Types > l.Types
	case "bytes":
		return n.Bytes > l.TotalBytes
	case "longest":
		return n.Longest > l.NameBytes
	case "client":
		for _, other := range c.system.clients {
			if other != c && other.budget == c.budget && other.Connected() {
				n.Names += other.Count(other.allowed).Names
			}
		}
		return n.Names > budgetNames
	}
	return false
}

// heal connects again after the end of a stream, with fewer names.
func (c *customer) heal() {
	c.T.Helper()
	if c.Connected() {
		if c.over() {
			c.T.Errorf("%s exceeds the limit of %s, and is not refused", c.Name, c.system.axes.limit)
		}
		return
	}
	for n := 0; !c.Connected(); n++ {
		types := slices.DeleteFunc(c.Types(), func(y *adsmodel.Type) bool { return len(y.Names) == 0 })
		if n > 0 || c.over() {
			y := types[c.system.rnd.IntN(len(types))]
			c.Unsubscribe(y.URL, c.choice(y)...)
		}
		c.Connect()
	}
}

// choice returns some subscribed names.
func (c *customer) choice(y *adsmodel.Type) (names []string) {
	for n := range y.Names {
		names = append(names, n)
	}
	slices.Sort(names)
	c.system.rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:1+c.system.rnd.IntN(min(2, len(names)))]
}

// act is a step of the client.
func (c *customer) act() {
	c.T.Helper()
	rnd := c.system.rnd
	url := []string{clusterURL, clusterURL, clusterURL, endpointURL, routeURL}[rnd.IntN(5)]
	switch y := c.Of(url); rnd.IntN(8) {
	case 0, 1:
		c.Subscribe(url, c.choose(url)...)
	case 2:
		if len(y.Names) > 0 {
			c.Unsubscribe(url, c.choice(y)...)
		}
	case 3:
		if c.system.axes.permissions && rnd.IntN(2) == 0 {
			c.permit()
			c.Disconnect(ErrDenied)
		}
		c.Connect()
	case 4:
		c.Read("no")
	default:
		c.Read("")
	}
}

// choose returns names to subscribe to.
func (c *customer) choose(url string) (list []string) {
	names, all := systemNames(url)
	all = append(all, names...)
	all = append(all, source.Wildcard)
	if url == clusterURL {
		all = append(all, otherGlob+"*", cGlob+"*")
	}
	if c.system.axes.limit == "longest" {
		all = append(all, longName)
	}
	for range 1 + c.system.rnd.IntN(3) {
		if n := all[c.system.rnd.IntN(len(all))]; !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// told judges that the client is told that something is gone.
func (c *customer) told(_ *adsmodel.Client, url, name string) {
	c.T.Helper()
	w := c.system
	p := w.planeOf(name)
	switch {
	case !c.allowed(url, name): // the next response has the error, if this one was full
	case !p.known && p.expires(url, name): // nobody can see whether it was renewed
	case !p.known:
		c.T.Errorf("%s is told that %s is gone, and its source has not answered", c.Name, name)
	case !w.truth.WasAbsent(key(url, name)):
		c.T.Errorf("%s is told that %s is gone, and no source has removed it", c.Name, name)
	}
}

// planeOf returns the source of a name.
func (w *system) planeOf(name string) *plane {
	for _, p := range w.planes {
		if p.name != "" && p.name == adsmodel.Authority(name) {
			return p
		}
	}
	return w.planes[0]
}

// checkQuiet checks the resources and errors of a client whose sources have not answered: an error for a name, and everything that a state
// directory has.
func (c *customer) checkQuiet() {
	c.T.Helper()
	y := c.Of(clusterURL)
	if c.Held(y, c.system.unsure) {
		return
	}
	for _, p := range c.system.planes {
		if p.known {
			continue
		}
		for name := range y.Names {
			if !adsmodel.IsCollection(name) && c.allowed(clusterURL, name) && c.system.planeOf(name) == p && y.Errors[name] == "" && y.Has[name] == nil {
				if k := key(clusterURL, name); p.file == nil || p.file[k].Aliases == nil && p.file[k].Body == nil && !p.aliased(name) {
					c.T.Errorf("%s received no error for %s, whose source has not answered", c.Name, name)
				}
			}
		}
		for k, r := range p.file {
			if k.Type != clusterURL || r.Err != nil || !r.Expires.IsZero() || !y.Names[k.Name] && !y.Names[collectionName(k.Name)] || !c.allowed(k.Type, k.Name) {
				continue
			}
			if h := y.Has[k.Name]; h == nil || h.Body != string(r.Body) {
				c.T.Errorf("%s has %v of %s; want %q of the state directory", c.Name, h, k.Name, r.Body)
			}
		}
	}
}

// commit changes resources. A route always refers to a cluster that exists.
func (w *system) commit() {
	tx := make(map[source.Key]source.Operation)
	put := func(r source.Resource) { tx[r.Key] = source.Operation{Resource: r} }
	for range w.rnd.IntN(5) {
		url := []string{clusterURL, clusterURL, endpointURL}[w.rnd.IntN(3)]
		names, _ := systemNames(url)
		k := key(url, names[w.rnd.IntN(len(names))])
		w.value++
		switch r := w.resource(k); {
		case w.rnd.IntN(4) == 0:
			tx[k] = source.Operation{Resource: source.Resource{Key: k}, Delete: true}
		case w.rnd.IntN(6) == 0 && !w.referred(k): // an error is sent at once, and not after the route has left the cluster
			put(source.Resource{Key: k, Err: &rpcstatus.Status{Code: 5, Message: fmt.Sprint(w.value)}})
		default:
			put(r)
		}
	}
	if w.planes[0].quiet {
		w.dropMain(tx)
	} else {
		w.moveAlias(tx)
		w.moveRoutes(tx)
	}
	byPlane := make(map[*plane][]source.Operation)
	for _, o := range tx {
		p := w.planeOf(o.Name)
		byPlane[p] = append(byPlane[p], o)
	}
	for _, p := range w.planes {
		slices.SortFunc(byPlane[p], func(a, b source.Operation) int { return strings.Compare(a.String(), b.String()) })
		p.take(byPlane[p])
	}
}

// referred reports whether a route refers to a cluster.
func (w *system) referred(k source.Key) bool {
	for _, r := range w.truth.Resources {
		if _, target, ok := strings.Cut(string(r.Body), ">"); ok && k == key(clusterURL, target) {
			return true
		}
	}
	return false
}

// moveAlias takes an alias from one resource if a transaction gives it to the other one.
func (w *system) moveAlias(tx map[source.Key]source.Operation) {
	a, b := key(clusterURL, "a"), key(clusterURL, "b")
	has := func(k source.Key) bool {
		if o, changes := tx[k]; changes {
			return slices.Contains(o.Aliases, "x")
		}
		return slices.Contains(w.truth.Resources[k].Aliases, "x")
	}
	if !has(a) || !has(b) {
		return
	}
	loser := []source.Key{a, b}[w.rnd.IntN(2)]
	o, changes := tx[loser]
	if !changes {
		o.Resource = w.truth.Resources[loser]
	}
	o.Aliases = slices.DeleteFunc(slices.Clone(o.Aliases), func(n string) bool { return n == "x" })
	o.Version = ""
	tx[loser] = o
}

// dropMain ends changes of clusters that routes may refer to.
func (w *system) dropMain(tx map[source.Key]source.Operation) {
	for k := range tx {
		if w.planeOf(k.Name) == w.planes[0] && k.Type == clusterURL {
			delete(tx, k)
		}
	}
}

// resource returns another version of a resource.
func (w *system) resource(k source.Key) source.Resource {
	r := source.Resource{Key: k, Body: fmt.Appendf(nil, "%s=%d", k.Name, w.value%5)}
	for _, a := range map[string][]string{"a": {"x"}, "b": {"x", "y"}, otherGlob + "1": {otherGlob + "x"}}[k.Name] {
		if k.Type == clusterURL && w.rnd.IntN(2) == 0 {
			r.Aliases = append(r.Aliases, a)
		}
	}
	if w.axes.ttl && w.rnd.IntN(2) == 0 {
		r.TTL = 6 * time.Second
	}
	if w.axes.ttl && w.rnd.IntN(3) == 0 && (k.Type != clusterURL || strings.HasPrefix(k.Name, "xdstp:")) { // routes refer to the others
		r.Expires = time.Now().Add(time.Duration(1+w.rnd.IntN(20)) * time.Second)
	}
	return r
}

// moveRoutes has routes refer to other clusters, and away from those that a transaction deletes.
func (w *system) moveRoutes(tx map[source.Key]source.Operation) {
	there := func(cluster string) bool {
		k := key(clusterURL, cluster)
		r, ok := w.truth.Resources[k]
		if o, changes := tx[k]; changes {
			r, ok = o.Resource, !o.Delete
		}
		return ok && r.Err == nil
	}
	clusters := slices.DeleteFunc([]string{"a", "b", "c"}, func(n string) bool { return !there(n) })
	for _, name := range []string{"r", "s"} {
		k := key(routeURL, name)
		body := string(w.truth.Resources[k].Body)
		_, target, _ := strings.Cut(body, ">")
		w.value++
		switch {
		case len(clusters) == 0:
			tx[k] = source.Operation{Resource: source.Resource{Key: k}, Delete: true}
		case body != "" && !there(target), w.rnd.IntN(3) == 0:
			to := clusters[w.rnd.IntN(len(clusters))]
			tx[k] = source.Operation{Resource: source.Resource{Key: k, Body: fmt.Appendf(nil, "%s=%d>%s", name, w.value, to)}}
		}
	}
}

// renew renews resources that expire, without another change.
func (w *system) renew() {
	for _, p := range w.planes {
		var operations []source.Operation
		for _, r := range p.own() {
			if !p.quiet && !r.Expires.IsZero() && time.Now().Before(r.Expires) {
				r.Expires = time.Now().Add(20 * time.Second)
				operations = append(operations, source.Operation{Resource: r})
			}
		}
		slices.SortFunc(operations, func(a, b source.Operation) int { return strings.Compare(a.String(), b.String()) })
		p.take(operations)
	}
}
