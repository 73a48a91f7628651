package lkg

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/internal/durable"
)

// sample returns the content of a file.
func sample(tb testing.TB, key []byte) []byte {
	tb.Helper()
	g := generation{header: header{Node: thisNode, Authority: "#old", Sequence: 7, Written: 1}, resources: []Resource{
		{Type: thing, Name: "a", Version: "1", Server: "s", Body: []byte("one"), Confirmed: time.UnixMilli(5)},
		{Type: thing, Name: "*", Collection: true, Server: "s"},
	}}
	b, err := g.encode(key)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// No flipped bit and no truncation of a file is accepted.
func TestDamagedFiles(t *testing.T) {
	for _, key := range [][]byte{nil, []byte("0123456789abcdef")} {
		whole := sample(t, key)
		if g, err := decodeGeneration(bytes.Clone(whole), key); err != nil || len(g.resources) != 2 {
			t.Fatalf("the intact file: %+v, %v", g, err)
		}
		for i := range whole {
			for bit := range 8 {
				b := bytes.Clone(whole)
				b[i] ^= 1 << bit
				if g, err := decodeGeneration(b, key); err == nil {
					t.Fatalf("bit %d of byte %d is flipped; accepted %+v", bit, i, g)
				}
			}
			if g, err := decodeGeneration(bytes.Clone(whole[:i]), key); err == nil {
				t.Fatalf("%d of %d bytes accepted: %+v", i, len(whole), g)
			}
		}
		if _, err := decodeGeneration(append(bytes.Clone(whole), 0), key); err == nil {
			t.Error("a file with a further byte is accepted")
		}
	}
	b := sample(t, nil)
	b = append(b[:len(b)-sha256.Size], 0)
	sum := sha256.Sum256(b)
	if g, err := decodeGeneration(append(b, sum[:]...), nil); !errors.Is(err, durable.ErrRecords) {
		t.Errorf("a further byte under a correct checksum: %+v, error %v; want %v", g, err, durable.ErrRecords)
	}
	key := []byte("0123456789abcdef")
	for name, row := range map[string]struct {
		content, key []byte
		want         error
	}{
		"encrypted, without a key": {sample(t, key), nil, durable.ErrSealed},
		"another key":              {sample(t, key), []byte("fedcba9876543210"), durable.ErrKey},
		"not encrypted, but a key": {sample(t, nil), key, durable.ErrNotSealed},
	} {
		if _, err := decodeGeneration(row.content, row.key); !errors.Is(err, row.want) {
			t.Errorf("%s: error %v, want %v", name, err, row.want)
		}
	}
}

// Files of an earlier release can be read, and new files are the same.
func TestFormat(t *testing.T) {
	want := sample(t, nil)
	for name, key := range map[string][]byte{"plain": nil, "sealed": []byte("0123456789abcdef")} {
		b, err := os.ReadFile(filepath.Join("testdata", name+".lkg"))
		if err != nil {
			t.Fatal(err)
		}
		g, err := decodeGeneration(bytes.Clone(b), key)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again, err := g.encode(nil); err != nil || !bytes.Equal(again, want) {
			t.Errorf("%s: the file has %q, %v; want %q", name, again, err, want)
		}
		if key == nil && !bytes.Equal(b, want) {
			t.Errorf("new file = %q, want %q", want, b)
		}
	}
}

// FuzzGeneration reads arbitrary records under a checksum that fits. A file that is accepted encodes to
// a file with the same resources.
func FuzzGeneration(f *testing.F) {
	whole := sample(f, nil)
	f.Add(whole[:len(whole)-sha256.Size])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = decodeGeneration(bytes.Clone(b), nil)
		sum := sha256.Sum256(b)
		g, err := decodeGeneration(append(bytes.Clone(b), sum[:]...), nil)
		if err != nil {
			return
		}
		again, err := g.encode(nil)
		if err != nil {
			return // the header is too large
		}
		h, err := decodeGeneration(again, nil)
		if err != nil || fmt.Sprint(h.resources) != fmt.Sprint(g.resources) {
			t.Errorf("resources %v, after encoding %v, %v", g.resources, h, err)
		}
	})
}

// A damaged generation is not used; the previous one is.
func TestPreviousGeneration(t *testing.T) {
	var log lockedLog
	o := Options{Dir: safeDir(t), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	keep(t, o, put("a", "1"))
	keep(t, o, put("a", "2"))
	s := openStore(t, o)
	path := s.newestPath(t)
	must(t, s.Close())
	b, err := os.ReadFile(path)
	must(t, err)
	b[len(b)-1]++ // of the checksum; a byte of the header may break its JSON
	must(t, os.WriteFile(path, b, 0o600))
	s = openStore(t, o)
	wantBody(t, s, "a", "1")
	if !strings.Contains(log.String(), "checksum") {
		t.Errorf("log = %q, want a line about the checksum", log.String())
	}
	must(t, s.Close())
	keep(t, o, put("a", "3"))
	wantBody(t, openStore(t, o), "a", "3")
}

type lockedLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A faultyFile fails after some bytes, or when it is synced.
type faultyFile struct {
	durable.File
	room    int
	err     error
	syncErr error
}

func (f *faultyFile) Write(b []byte) (int, error) {
	if len(b) > f.room {
		n, _ := f.File.Write(b[:f.room])
		return n, f.err
	}
	return f.File.Write(b)
}

func (f *faultyFile) Sync() error {
	if f.syncErr != nil {
		return f.syncErr
	}
	return f.File.Sync()
}

// A write that fails leaves the previous generation and no temporary file. The log has one line. The
// next write succeeds.
func TestFailedWrites(t *testing.T) {
	for name, fault := range map[string]func(f durable.File) (durable.File, error){
		"full disk": func(f durable.File) (durable.File, error) {
			return &faultyFile{File: f, room: 20, err: syscall.ENOSPC}, nil
		},
		"failed sync": func(f durable.File) (durable.File, error) {
			return &faultyFile{File: f, room: 1 << 20, syncErr: syscall.EIO}, nil
		},
		"read-only directory": func(f durable.File) (durable.File, error) { _ = f.Close(); return nil, syscall.EROFS },
	} {
		t.Run(name, func(t *testing.T) {
			var log lockedLog
			o := Options{Dir: safeDir(t), Quiet: time.Millisecond, MaxDelay: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			keep(t, o, put("a", "1"))
			s := openStore(t, o)
			create, broken := s.dir.Create, true
			var mu sync.Mutex
			s.dir.Create = func(name string) (durable.File, error) {
				mu.Lock()
				defer mu.Unlock()
				f, err := create(name)
				if err != nil || !broken {
					return f, err
				}
				f, faultErr := fault(f)
				if faultErr != nil {
					_ = s.dir.Remove(name)
				}
				return f, faultErr
			}
			w := s.Writer(oldStyle)
			w.SetState(true, true)
			w.Apply([]Change{put("a", "2")})
			eventually(t, "second failure", func() bool { return s.Status().Authorities[0].Failures >= 2 })
			wantBody(t, s, "a", "2")
			if n := len(s.dir.files(prefixOfName(oldStyle.String()))); n != 1 {
				t.Errorf("generations = %d, want the previous one", n)
			}
			mu.Lock()
			broken = false
			mu.Unlock()
			eventually(t, "write", func() bool { return s.Status().Authorities[0].Writes > 0 })
			must(t, s.Close())
			temporary(t, listing(t, o.Dir), 0)
			if n := strings.Count(log.String(), "cannot be written"); n != 1 {
				t.Errorf("%d lines about the fault, want 1:\n%s", n, log.String())
			}
		})
	}
}

// temporary checks the number of temporary files, unless it is negative, and returns it.
func temporary(t *testing.T, names []string, want int) (n int) {
	t.Helper()
	for _, name := range names {
		if strings.HasPrefix(name, "tmp-") {
			n++
		}
	}
	if want >= 0 && n != want {
		t.Errorf("temporary files = %d, want %d", n, want)
	}
	return n
}

// A process that cannot create the lock reads the store.
func TestReadOnlyDirectory(t *testing.T) {
	o := Options{Dir: safeDir(t)}
	keep(t, o, put("a", "1"))
	must(t, os.Remove(o.Dir+"/"+"lock"))
	must(t, os.Mkdir(o.Dir+"/"+"lock", 0o700)) // as root, permissions have no effect
	s := openStore(t, o)
	if s.Status().ReadOnly == nil {
		t.Error("the store has the lock")
	}
	wantBody(t, s, "a", "1")
}

// Resources that are in use have precedence within the limit of bytes. If they exceed it alone, the store
// writes nothing and says why.
func TestLimitOfBytes(t *testing.T) {
	o := Options{Dir: safeDir(t), MaxBytes: 20_000, MaxDelay: time.Millisecond, Quiet: time.Millisecond}
	s := openStore(t, o)
	w := s.Writer(oldStyle)
	w.SetState(true, true)
	body := strings.Repeat("x", 4000)
	w.Apply([]Change{put("first", body), put("second", body)})
	w.Apply([]Change{{Op: Release, Resource: put("first", "").Resource}})
	w.Apply([]Change{{Op: Release, Resource: put("second", "").Resource}})
	w.Apply([]Change{put("third", body)})
	eventually(t, "write", func() bool { return s.Status().Authorities[0].Resources == 2 && s.Status().Authorities[0].Writes > 0 })
	wantBody(t, s, "first", "-")
	wantBody(t, s, "second", body)
	w.Apply([]Change{put("fourth", strings.Repeat("x", 20_000))})
	eventually(t, "failure", func() bool { return s.Status().Authorities[0].Failures > 0 })
	if err := s.Status().Authorities[0].Err; err == nil || !strings.Contains(err.Error(), "MaxBytes") {
		t.Errorf("error = %v, want one that names MaxBytes", err)
	}
}

// The store keeps the newest generations only.
func TestNumberOfGenerations(t *testing.T) {
	o := Options{Dir: safeDir(t), Keep: 2}
	for i := range 5 {
		keep(t, o, put("a", fmt.Sprint(i)))
	}
	s := openStore(t, o)
	if got := fmt.Sprint(s.dir.files(prefixOfName(oldStyle.String()))); got != "[5 4]" {
		t.Errorf("generations = %s, want [5 4]", got)
	}
}

// Resources with secrets are on disk only if there is a key.
func TestSecrets(t *testing.T) {
	password := &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: "swordfish"}}
	config, err := anypb.New(&tlsv3.UpstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
		TlsCertificates: []*tlsv3.TlsCertificate{{PrivateKey: password}},
	}})
	must(t, err)
	body := func(m proto.Message) []byte {
		b, err := proto.Marshal(m)
		must(t, err)
		return b
	}
	const clusterType, endpointType = "envoy.config.cluster.v3.Cluster", "envoy.config.endpoint.v3.ClusterLoadAssignment"
	changes := []Change{
		{Put, Resource{Type: clusterType, Name: "inline", Body: body(&clusterv3.Cluster{TransportSocket: &corev3.TransportSocket{
			ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: config},
		}})}},
		{Put, Resource{Type: clusterType, Name: "broken", Body: []byte{0xff}}},
		{Put, Resource{Type: clusterType, Name: "cut", Body: []byte{0x0a, 5, 1}}},
		{Put, Resource{Type: "envoy.extensions.transport_sockets.tls.v3.Secret", Name: "by type", Body: body(&tlsv3.Secret{Name: "by type"})}},
		{Put, Resource{Type: endpointType, Name: "in an Any", Body: body(&endpointv3.ClusterLoadAssignment{Endpoints: []*endpointv3.LocalityLbEndpoints{{
			Metadata: &corev3.Metadata{TypedFilterMetadata: map[string]*anypb.Any{"x": config}},
		}}})}},
		{Put, Resource{Type: endpointType, Name: "endpoint", Body: body(&endpointv3.ClusterLoadAssignment{ClusterName: "endpoint"})}},
		{Put, Resource{Type: clusterType, Name: "plain", Body: body(&clusterv3.Cluster{Name: "plain"})}},
	}
	for _, row := range []struct {
		key  []byte
		want string
	}{{nil, "[endpoint plain]"}, {[]byte("0123456789abcdef"), "[inline broken cut by type in an Any endpoint plain]"}} {
		o := Options{Dir: safeDir(t), Key: row.key}
		keep(t, o, changes...)
		s := openStore(t, o)
		var names []string
		for _, c := range changes {
			if _, ok := s.Lookup(oldStyle, c.Type, c.Name); ok {
				names = append(names, c.Name)
			}
		}
		if got := fmt.Sprint(names); got != row.want {
			t.Errorf("key %q: stored %s, want %s", row.key, got, row.want)
		}
	}
}

// Invalid options are errors that name the option.
func TestInvalidOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"Dir":        {},
		"Key":        {Dir: "x", Key: []byte("short")},
		"Quiet":      {Dir: "x", Quiet: -1},
		"MaxDelay":   {Dir: "x", MaxDelay: -1},
		"Keep":       {Dir: "x", Keep: 101},
		"MaxBytes":   {Dir: "x", MaxBytes: -1},
		"TypeMaxAge": {Dir: "x", TypeMaxAge: map[string]time.Duration{"t": 0}},
	} {
		if _, err := Open(o, thisNode); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want one that names %s", err, want)
		}
	}
}
