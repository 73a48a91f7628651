package xdsctl

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func (a *app) man() *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write the man pages to a folder",
		Example: `  xdsctl man /usr/local/share/man/man1`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // man pages are public
				return err
			}
			// A fixed date, so that the same version writes the same bytes.
			date := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
			c.Root().DisableAutoGenTag = true
			return doc.GenManTree(c.Root(), &doc.GenManHeader{Title: "XDSCTL", Section: "1", Source: "xdsforge", Manual: "xdsctl", Date: &date}, args[0])
		},
	}
}
