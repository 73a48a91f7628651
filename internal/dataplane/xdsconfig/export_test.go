package xdsconfig

// Closing reports whether Close was called.
func (w *Watcher) Closing() bool { return w.closing.Load() }

// Visits counts the traversals, and the clusters that they visited.
func (w *Watcher) Visits() (traversals, visits uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.traversals, w.visits
}
