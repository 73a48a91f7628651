package serve

import (
	"cmp"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/internal/envelope"
)

// totals returns the messages and the lag of each type, over all views.
func (s *Server) totals(now time.Time) []typeStatus {
	byURL := make(map[string]*typeStatus)
	of := func(url string) *typeStatus {
		t := byURL[url]
		if t == nil {
			t = &typeStatus{Type: text(envelope.MessageName(url))}
			byURL[url] = t
		}
		return t
	}
	for _, c := range s.cores() {
		for url, n := range c.Counts() {
			t := of(url)
			t.Requests += n.Requests
			t.Responses += n.Responses
			t.Rejections += n.Rejections
		}
		for url, l := range c.Lags() {
			t := of(url)
			t.Behind += l.Streams
			if !l.Since.IsZero() {
				t.Lag = max(t.Lag, now.Sub(l.Since))
			}
		}
	}
	list := make([]typeStatus, 0, len(byURL))
	for _, t := range byURL {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b typeStatus) int { return cmp.Compare(a.Type, b.Type) })
	return list
}
