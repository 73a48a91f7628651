// Command crash kills and stops processes of a control plane while a publisher commits: daemons, the leader of the store, two of its
// three nodes, the publisher itself. It fails if an acknowledged commit is lost, or if a reader sees a part of a transaction. It
// prints the gaps.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/xdsforge/xdsforge/internal/etcdtest"
	"github.com/xdsforge/xdsforge/internal/process"
)

func main() {
	if etcdtest.IsChild() || isPublisher() {
		return
	}
	rounds := flag.Int("n", 3, "number of faults")
	flag.Parse()
	process.Main("crash", func(ctx context.Context) error {
		dir, err := os.MkdirTemp("", "xdsforge-crash-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		w, err := newWorld(ctx, dir)
		defer w.close()
		if err != nil {
			return err
		}
		for i := range *rounds {
			f := faults()[i%len(faults())]
			if err := w.round(ctx, f); err != nil {
				return fmt.Errorf("fault %d, %s: %w", i+1, f.name, err)
			}
		}
		w.report(os.Stdout, *rounds)
		return nil
	})
}
