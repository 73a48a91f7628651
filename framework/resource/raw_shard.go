package resource

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A rawShard stores updates of a type of [Raw]. Generated types have shards in a package that
// imports this one. A rawShard is simpler than these and has no refs to index.
type rawShard struct {
	updates sync.Map // by name
	n       atomic.Int64
}

// Load implements [Shard].
func (s *rawShard) Load(name xdstp.Name) (Update, bool) {
	u, ok := s.updates.Load(name)
	if !ok {
		return nil, false
	}
	return u.(Update), true
}

// Store implements [Shard].
func (s *rawShard) Store(u Update) {
	if _, was := s.updates.Swap(u.Name(), u); !was {
		s.n.Add(1)
	}
}

// Delete implements [Shard].
func (s *rawShard) Delete(name xdstp.Name) {
	if _, was := s.updates.LoadAndDelete(name); was {
		s.n.Add(-1)
	}
}

// Len implements [Shard].
func (s *rawShard) Len() int { return int(s.n.Load()) }

// All implements [Shard].
func (s *rawShard) All() iter.Seq[Update] {
	return func(yield func(Update) bool) {
		s.updates.Range(func(_, u any) bool { return yield(u.(Update)) })
	}
}

// Referrers implements [Shard]. Whole messages have no known references.
func (*rawShard) Referrers(Ref) iter.Seq[Update] { return func(func(Update) bool) {} }
