package xdsd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/store/etcd"
)

// A digestStatus is a digest of a store in /digests.
type digestStatus struct {
	Authority string            `json:"authority"`
	Epoch     string            `json:"epoch"`
	Revision  int64             `json:"revision"`
	Sums      map[string]uint64 `json:"sums"`
}

// digests returns the last digests of all stores.
func digests(origins []*origin) []digestStatus {
	list := []digestStatus{}
	for _, o := range origins {
		if o.store == nil {
			continue
		}
		for _, d := range o.store.Digests() {
			list = append(list, digestStatus{o.authority, d.Epoch, d.Revision, d.Sums})
		}
	}
	return list
}

// Bounds of the comparison with other daemons.
const (
	driftInterval = 5 * time.Second // between two comparisons with a daemon
	driftTimeout  = 5 * time.Second
	maxDigests    = 16 << 20 // bytes of a response
	maxReason     = 256      // bytes of the response of a daemon that refuses
	maxTypes      = 10       // named by an alarm
	maxPeers      = 100
)

// A drift compares the resources of the stores with those of other daemons. At equal revisions they must be equal.
type drift struct {
	app     *app
	origins []*origin
	client  http.Client

	mu     sync.Mutex
	alarms map[string]string // by daemon and authority
	silent map[string]bool   // daemons that do not answer
}

// parsePeers returns the URLs of the digests of other daemons.
func parsePeers(list []string) (urls []string, err error) {
	if len(list) > maxPeers {
		return nil, fmt.Errorf("-peers = %d daemons; must not be more than %d", len(list), maxPeers)
	}
	for _, text := range list {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("-peers = %q; must be the http:// URLs of other daemons", text)
		}
		if u.User != nil || strings.ContainsAny(text, "?#") {
			return nil, fmt.Errorf("-peers = %q; must have no user, password, query or fragment", u.Redacted()) // logs would have the password
		}
		urls = append(urls, strings.TrimSuffix(text, "/")+"/digests")
	}
	return urls, nil
}

// follow compares with a daemon at intervals until ctx ends.
func (d *drift) follow(ctx context.Context, peer string) {
	t := time.NewTicker(driftInterval)
	defer t.Stop()
	for {
		theirs, err := d.fetch(ctx, peer)
		if ctx.Err() != nil {
			return
		}
		d.answered(peer, err)
		if err == nil {
			d.compare(peer, theirs)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// fetch reads the digests of a daemon.
func (d *drift) fetch(ctx context.Context, peer string) (list []digestStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, driftTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, peer, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		reason, _ := io.ReadAll(io.LimitReader(resp.Body, maxReason)) // the status is the error
		text := resp.Status + ": " + string(bytes.TrimSpace(reason))
		return nil, errors.New(printable.Text(text, printable.Whole)) // it must not forge lines of the log
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDigests+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxDigests {
		return nil, fmt.Errorf("the digests are more than %d bytes", maxDigests)
	}
	err = json.Unmarshal(data, &list)
	return list, err
}

// newDrift returns a comparison. It does not follow redirects: a daemon answers itself.
func newDrift(a *app, origins []*origin) *drift {
	d := &drift{app: a, origins: origins, alarms: make(map[string]string), silent: make(map[string]bool)}
	d.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return d
}

// answered prints when a daemon stops or begins to answer.
func (d *drift) answered(peer string, err error) {
	d.mu.Lock()
	was := d.silent[peer]
	d.silent[peer] = err != nil
	d.mu.Unlock()
	switch {
	case err != nil && !was:
		d.app.print("resources are not compared with those of %s: %v", peer, err)
	case err == nil && was:
		d.app.print("resources are compared with those of %s again", peer)
	}
}

// compare raises an alarm for each store whose newest common revision with a daemon has other resources there.
func (d *drift) compare(peer string, theirs []digestStatus) {
	for _, o := range d.origins {
		if o.store == nil {
			continue
		}
		ours := o.store.Digests()
		for _, mine := range slices.Backward(ours) {
			i := slices.IndexFunc(theirs, func(x digestStatus) bool {
				return x.Authority == o.authority && x.Epoch == mine.Epoch && x.Revision == mine.Revision
			})
			if i < 0 {
				continue
			}
			other := etcd.Digest{Epoch: theirs[i].Epoch, Revision: theirs[i].Revision, Sums: theirs[i].Sums}
			text := ""
			if !mine.Equal(other) {
				text = fmt.Sprintf("drift: %s has other resources of authority %q at revision %d: %s",
					peer, o.authority, mine.Revision, strings.Join(differing(mine.Sums, other.Sums), ", "))
			}
			d.set(peer+" "+o.authority, text)
			break
		}
	}
}

// differing returns the types with different sums, the first ones of many. Another daemon may have chosen their names, so they
// are clipped and escaped.
func differing(a, b map[string]uint64) []string {
	types := make(map[string]bool)
	for t, sum := range a {
		types[t] = b[t] != sum
	}
	for t, sum := range b {
		types[t] = a[t] != sum
	}
	maps.DeleteFunc(types, func(_ string, differs bool) bool { return !differs })
	all := slices.Sorted(maps.Keys(types))
	list := make([]string, 0, maxTypes+1)
	for _, t := range all[:min(maxTypes, len(all))] {
		list = append(list, printable.Text(t, printable.Short))
	}
	if more := len(all) - maxTypes; more > 0 {
		list = append(list, fmt.Sprintf("and %d more types", more))
	}
	return list
}

// set notes an alarm, or the end of one, and prints it.
func (d *drift) set(key, text string) {
	d.mu.Lock()
	was := d.alarms[key]
	if d.alarms[key] = text; text == "" {
		delete(d.alarms, key)
	}
	d.mu.Unlock()
	switch {
	case text != "" && text != was:
		d.app.print("%s", text)
	case text == "" && was != "":
		d.app.print("the end of: %s", was)
	}
}

// list returns the current alarms.
func (d *drift) list() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Values(d.alarms))
}
