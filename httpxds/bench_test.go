package httpxds_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/httpxds"
)

// BenchmarkRoundTrip measures a POST through a Transport beside one through http.Transport. The route has a time limit, so the
// plain client has one too. make bench-http measures more cases, with the two alternating.
func BenchmarkRoundTrip(b *testing.B) {
	for protocol, name := range map[httpxds.Protocol]string{httpxds.HTTP1: "http1", httpxds.HTTP2: "h2c"} {
		w := newWorld(b)
		addr := serve(b, read)
		w.cluster("c", "", addr)
		w.routes(`routes { match { prefix: "" } route { cluster: "c" timeout { seconds: 15 } } }`)
		plain := &http.Transport{Protocols: new(http.Protocols), MaxIdleConnsPerHost: 100}
		plain.Protocols.SetHTTP1(protocol == httpxds.HTTP1)
		plain.Protocols.SetUnencryptedHTTP2(protocol == httpxds.HTTP2)
		b.Cleanup(plain.CloseIdleConnections)
		ours := w.transport(httpxds.WithProtocol(protocol))
		for _, rt := range []struct {
			name string
			http.RoundTripper
		}{{"plain", limited{plain}}, {"ours", ours}} {
			b.Run(name+"/"+rt.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := exchange(b.Context(), rt, "http://"+addr+"/"); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(name+"/"+rt.name+"/parallel", func(b *testing.B) {
				b.SetParallelism(32) // times the number of processors
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := exchange(b.Context(), rt, "http://"+addr+"/"); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}

// limited applies a time limit, as the route does.
type limited struct{ http.RoundTripper }

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), 15*time.Second)
	resp, err := l.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = limitedBody{resp.Body, cancel}
	return resp, nil
}

type limitedBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements [io.Closer].
func (b limitedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

func exchange(ctx context.Context, rt http.RoundTripper, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("body"))
	if err != nil {
		return err
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
