// Command crash kills and stops processes of a control plane while a publisher commits: daemons, the leader of the store, two of its
// three nodes, the publisher itself. It also restores the store from a backup. It fails if an acknowledged commit is lost, if a reader
// sees a part of a transaction, or if a reader keeps resources that a restored store does not have. It prints the gaps.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/internal/etcdtest"
	"github.com/xdsforge/xdsforge/internal/process"
)

func main() {
	if etcdtest.IsChild() || isPublisher() {
		return
	}
	rounds := flag.Int("n", 3, "number of faults")
	only := flag.String("fault", "", "make only faults whose names contain this text")
	each := flag.Bool("v", false, "print the gaps of each fault")
	flag.Parse()
	process.Main("crash", func(ctx context.Context) error {
		dir, err := os.MkdirTemp("", "xdsforge-crash-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		list := slices.DeleteFunc(faults(), func(f fault) bool { return !strings.Contains(f.name, *only) })
		if len(list) == 0 {
			return fmt.Errorf("-fault = %q; must be a part of the name of a fault", *only)
		}
		w, err := newWorld(ctx, dir)
		defer w.close()
		if err != nil {
			return err
		}
		for i := range *rounds {
			f := list[i%len(list)]
			gaps, err := w.round(ctx, f)
			if err != nil {
				return fmt.Errorf("fault %d, %s: %w", i+1, f.name, err)
			}
			if *each {
				fmt.Printf("%d %s: %v\n", i+1, f.name, gaps)
			}
		}
		w.report(os.Stdout, *rounds)
		return nil
	})
}
