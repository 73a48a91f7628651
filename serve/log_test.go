package serve_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/serve"
)

// The server logs a rejection once for all clients, the streams that it ends, and the states of sources.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "version" {
				return slog.Attr{}
			}
			return a
		}}))
		b := newBench(t, nil, serve.WithLogger(logger), serve.WithLimits(serve.Limits{Names: 2}))
		expect := func(event, want string) {
			t.Helper()
			pass(time.Second)
			if got := lines.String(); got != want {
				t.Errorf("%s: the log is\n%swant\n%s", event, got, want)
			}
			lines.Reset()
		}
		b.put(b.main, "a", "one")
		expect("at the start", "")
		for range 3 {
			s := b.open("a")
			r, err := s.Recv()
			if err == nil {
				err = s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: r.GetNonce(), ErrorDetail: status.New(codes.InvalidArgument, "bad\x01").Proto()})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		expect("after three equal rejections", `level=WARN msg="a client rejected resources" type=`+clusterURL+` names=[a] node=n error=bad\x01`+"\n")
		for range 3 {
			_ = end(b.open("a", "b", "c"))
		}
		expect("after three floods of names",
			`level=WARN msg="a stream was refused or ended" client=bufconn error="ads: names of the stream = 3; must not be more than 2 (Limits.Names)"`+"\n")
		for range 2 {
			b.east.SetState(source.State{Kind: source.Stale, Err: errors.New("no heartbeat")})
			expect("with a stale source", `level=WARN msg="a source of resources is not live" authority=east view="" state="stale: no heartbeat"`+"\n")
			b.main.SetState(source.State{Kind: source.Live})
			b.east.SetState(source.State{Kind: source.Live})
			expect("with a live source", `level=INFO msg="a source of resources is live again" authority=east view=""`+"\n")
		}
		if err := b.server.Drain(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if got := lines.String(); !strings.HasPrefix(got, `level=INFO msg="the server drains" streams=3 spread=0s`) || !strings.HasSuffix(got, "msg=\"the server is drained\"\n") {
			t.Errorf("after draining, the log is\n%s", got)
		}
	})
}
