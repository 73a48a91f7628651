package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/source"
)

// pileUp opens streams of both variants that never read, until the server cannot send more to them.
func (b *bench) pileUp() {
	b.t.Helper()
	cc := b.dial("", grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(64<<10))
	for range 5 {
		if err := b.whole(cc).Send(&discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResourceNames: []string{"a"}}); err != nil {
			b.t.Fatal(err)
		}
		if err := b.delta(cc).Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a"}}); err != nil {
			b.t.Fatal(err)
		}
	}
	for n := range 5 {
		synctest.Wait()
		body := fmt.Appendf(nil, "\x0a\x01a\x82\x02\x80\x80\x08%s", bytes.Repeat([]byte{byte('a' + n)}, 128<<10)) // alt_stat_name
		tx := new(source.Tx).Put(source.Resource{Key: source.Key{Type: clusterURL, Name: "a"}, Body: body})
		if _, err := b.main.Commit(b.t.Context(), tx); err != nil {
			b.t.Fatal(err)
		}
	}
	synctest.Wait()
}

// Streams of clients that do not read end with the server. Any number of drains wait for all streams.
func TestClientsThatDoNotRead(t *testing.T) {
	for name, end := range map[string]func(*bench) error{
		"drain": func(*bench) error { return nil },
		"close": func(b *bench) error { return b.server.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil)
				b.pileUp()
				if err := end(b); err != nil {
					t.Error(err)
				}
				drained := make(chan error, 4)
				for range cap(drained) {
					go func() {
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						defer cancel()
						drained <- b.server.Drain(ctx, 0)
					}()
				}
				for range cap(drained) {
					if err := <-drained; err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
