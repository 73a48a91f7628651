package client_test

// A modelCollector keeps what it was told of a wildcard or glob collection.
type modelCollector struct{ key modelKey }

func (w *modelWorld) collected(modelKey) bool { return false }

func (w *modelWorld) checkCollector(*modelCollector) {}
