package client

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
)

// The log escapes text of any origin, so callers need not escape it.
func TestLogIsPrintable(t *testing.T) {
	var out bytes.Buffer
	h := slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case string:
			out.WriteString("<" + v + ">")
		case error:
			out.WriteString("<" + v.Error() + ">")
		}
		return slog.Attr{}
	}})
	server, err := bootstrap.NewServer(bootstrap.ServerSpec{URI: "s", ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}})
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{logger: slog.New(h), nodeID: "n", name: "web\n", ctx: t.Context()}
	k := link{client: c, server: server}
	k.log(slog.LevelInfo, "m", "text", "a\nb", "error", errors.New("a\x1bb"), "count", 3)
	k.log(slog.LevelDebug, "quiet", "text", "c")
	if got, want := strings.TrimSpace(out.String()), `<m><s><n><web\n><a\nb><a\x1bb>`; got != want {
		t.Errorf("the handler got %q; want %q", got, want)
	}
}
