package client

import (
	"fmt"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

func isCollection(n xdstp.Name) bool { return n.String() == resource.Wildcard || n.IsGlob() }

// ObserveCollection implements [resource.Source].
func (c *Client) ObserveCollection(t *resource.Descriptor, name string) (resource.CollectionObservation, error) {
	if err := c.known(t); err != nil {
		return nil, err
	}
	n, err := c.config.ParseName(name)
	if err != nil {
		return nil, fmt.Errorf("client: watching a collection of type %s: %w", t.ShortName(), err)
	}
	cannot := func(what string) error {
		return fmt.Errorf("client: %s has no %s; it is not declared for the type", t.Name, what)
	}
	switch {
	case n.IsCollection() && t.Collection == "":
		return nil, cannot("list collections")
	case n.IsCollection():
		return c.observeList(t, n)
	case n.IsGlob() && !t.Globs:
		return nil, cannot("glob collections")
	case n.String() == resource.Wildcard && !t.Wildcard:
		return nil, cannot("wildcard")
	case !isCollection(n):
		return nil, fmt.Errorf("client: %q is no collection of type %s: watch it as a resource", name, t.ShortName())
	}
	_, scope, err := c.locate(t, name)
	if err != nil {
		return nil, err
	}
	o := &collectionSubscription{box: newBox(c), scope: scope}
	c.loop.post(func() {
		o.record = scope.machine.Watch(t, n, o, c.loop.now)
		c.loop.authority(scope)
	})
	return o, nil
}

// A collectionSubscription is a subscription to a wildcard or a glob collection.
type collectionSubscription struct {
	*box
	scope  *authorityScope
	record authority.Handle // loop only
}

var _ authority.CollectionWatcher = (*collectionSubscription)(nil)

// Notify implements [authority.Watcher].
func (o *collectionSubscription) Notify(s resource.State) {
	o.waitFor(o.client.loop.work)
	there := s.Origin != resource.OriginNone
	o.trouble(s.Err, there)
	if there {
		o.sync()
	}
}

// NotifyMember implements [authority.CollectionWatcher].
func (o *collectionSubscription) NotifyMember(name xdstp.Name, s resource.State) {
	o.waitFor(o.client.loop.work)
	o.put(name, s)
}

// Stop implements [resource.CollectionObservation].
func (o *collectionSubscription) Stop() {
	if o.stop() {
		l := o.client.loop
		l.post(func() {
			o.scope.machine.Cancel(o.record, o, l.now)
			l.authority(o.scope)
		})
	}
}
