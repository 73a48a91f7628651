package client

import (
	"log/slog"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// log writes a line about a server. It makes all texts and errors printable.
func (c *Client) log(server *bootstrap.Server, level slog.Level, msg string, args ...any) {
	if !c.logger.Enabled(c.ctx, level) {
		return
	}
	line := []any{"server", server.URI(), "node", c.nodeID}
	for _, arg := range args {
		switch v := arg.(type) {
		case string:
			arg = printable.Text(v, printable.Whole)
		case error:
			arg = printable.Error(v)
		}
		line = append(line, arg)
	}
	c.logger.Log(c.ctx, level, msg, line...)
}
