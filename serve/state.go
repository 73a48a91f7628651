package serve

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/statedir"
)

// keep returns sources whose resources are kept in the state directory, if there is one.
func (s *Server) keep(sources map[string]source.Source) (map[string]source.Source, error) {
	if s.settings.stateDir == "" {
		return sources, nil
	}
	logger := slog.New(slog.DiscardHandler)
	if s.settings.journal != nil {
		logger = s.settings.journal.logger
	}
	var err error
	s.state, err = statedir.Open(statedir.Options{Path: s.settings.stateDir, Key: s.settings.stateKey, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("WithStateDir: %w", err)
	}
	if sources, err = s.keepAll("authority", sources); err != nil {
		return nil, err
	}
	s.settings.views, err = s.keepAll("view", s.settings.views)
	return sources, err
}

// keepAll keeps all sources of a kind that have their resources without being asked for them.
func (s *Server) keepAll(kind string, sources map[string]source.Source) (map[string]source.Source, error) {
	out := maps.Clone(sources)
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if p, ok := sources[name].(interface{ OnDemand() bool }); ok && p.OnDemand() {
			continue
		}
		var err error
		if out[name], err = s.state.Source(kind+" "+name, sources[name]); err != nil {
			return nil, fmt.Errorf("WithStateDir: %s %q: %w", kind, name, err)
		}
	}
	return out, nil
}
