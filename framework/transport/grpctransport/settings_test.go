package grpctransport

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"math"
	"net"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// frames encodes frames as a server does.
func frames(t testing.TB, write func(*http2.Framer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(http2.NewFramer(&b, nil)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A pieceConn yields its bytes in reads of a given size.
type pieceConn struct {
	net.Conn
	r    io.Reader
	size int
}

func (c *pieceConn) Read(b []byte) (int, error) { return c.r.Read(b[:min(len(b), c.size)]) }

// The connection finds the limit in SETTINGS frames only, wherever the reads end.
func TestLimitIsRead(t *testing.T) {
	other := http2.Setting{ID: http2.SettingInitialWindowSize, Val: 7}
	limit := func(n uint32) http2.Setting {
		return http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: n}
	}
	const before = 99
	for _, c := range []struct {
		name  string
		write func(*http2.Framer) error
		want  uint32
	}{
		{"alone", func(f *http2.Framer) error { return f.WriteSettings(limit(100)) }, 100},
		{"among others", func(f *http2.Framer) error { return f.WriteSettings(other, limit(100), other) }, 100},
		{"not there", func(f *http2.Framer) error { return f.WriteSettings(other) }, before},
		{"nothing", func(f *http2.Framer) error { return f.WriteSettings() }, before},
		{"in a later frame", func(f *http2.Framer) error {
			if err := f.WriteSettings(limit(100)); err != nil {
				return err
			}
			if err := f.WriteSettingsAck(); err != nil {
				return err
			}
			if err := f.WriteData(1, false, make([]byte, 16384)); err != nil {
				return err
			}
			return f.WriteSettings(limit(1))
		}, 1},
		{"in the data of a stream", func(f *http2.Framer) error {
			return f.WriteData(1, false, []byte{0, byte(http2.SettingMaxConcurrentStreams), 0, 0, 0, 1})
		}, before},
		{"not whole", func(f *http2.Framer) error {
			return f.WriteRawFrame(http2.FrameSettings, 0, 0, []byte{0, 3, 0, 0, 0, 1, 0})
		}, before},
	} {
		all := frames(t, c.write)
		for size := 1; size <= len(all); size++ {
			var limit atomic.Uint32
			limit.Store(before)
			conn := &limitedConn{Conn: &pieceConn{r: bytes.NewReader(all), size: size}, limit: &limit}
			got, err := io.ReadAll(conn)
			if err != nil || !bytes.Equal(got, all) {
				t.Fatalf("%s: %d of %d bytes pass in pieces of %d, %v", c.name, len(got), len(all), size, err)
			}
			if n := limit.Load(); n != c.want {
				t.Errorf("%s: limit = %d in pieces of %d, want %d", c.name, n, size, c.want)
			}
			if size == 64 {
				break // frames' parts are smaller
			}
		}
	}
}

// A new connection does not take over the limit of the previous one.
func TestLimitOfANewConnection(t *testing.T) {
	var limit atomic.Uint32
	limit.Store(1)
	creds := observedCredentials{&passing{}, new(arrivals), &limit}
	if _, _, err := creds.ClientHandshake(t.Context(), "", nil); err != nil || limit.Load() != math.MaxUint32 {
		t.Errorf("limit = %d, %v; want none", limit.Load(), err)
	}
}

// passing are credentials whose handshake does nothing.
type passing struct {
	credentials.TransportCredentials
}

// ClientHandshake implements [credentials.TransportCredentials].
func (passing) ClientHandshake(_ context.Context, _ string, c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c, nil, nil
}

// The connection reads the limit from the decrypted bytes of TLS.
func TestLimitOverTLS(t *testing.T) {
	cert, _, pair := certificates(t, t.TempDir())
	lis := &countingListener{Listener: listen(t)}
	g := grpc.NewServer(grpc.MaxConcurrentStreams(1), grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})))
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, wait{})
	go func() { _ = g.Serve(lis) }()
	t.Cleanup(g.Stop)
	c := dial(t, New(), entry(t, lis.Addr().String(), "tls", `{"ca_certificate_file": `+strconv.Quote(filepath.ToSlash(cert))+`}`))
	for range 3 {
		openStream(testContext(t), t, c)
	}
	if n := lis.accepted.Load(); n != 3 {
		t.Errorf("%d connections, want one for each stream", n)
	}
}

// BenchmarkRead measures a read of 16 KiB, the usual frame size of a large message.
func BenchmarkRead(b *testing.B) {
	frame := frames(b, func(f *http2.Framer) error { return f.WriteData(1, false, make([]byte, 16384)) })
	var limit atomic.Uint32
	conn := &limitedConn{limit: &limit}
	b.ReportAllocs()
	for b.Loop() {
		conn.scan(frame)
	}
}
