package statedir

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/durable"
)

func key() []byte { return []byte("0123456789abcdef") }

// sample returns a snapshot with all kinds of resources.
func sample() *snapshot {
	k := func(name string) source.Key { return source.Key{Type: typeURL, Name: name} }
	return &snapshot{
		header: header{Source: "x", Epoch: "e", Revision: 7, Written: 1},
		resources: []source.Resource{
			{Key: k("a"), Version: "k-1", Body: []byte("body"), Aliases: []string{"b", "c"}, TTL: time.Second, Expires: time.UnixMilli(5)},
			{Key: k("empty"), Version: "2", Body: []byte{}},
			{Key: source.Key{Type: "type.googleapis.com/test.Other", Name: "e"}, Version: "3", Err: &rpcstatus.Status{Code: 5, Message: "no"}},
		},
	}
}

// A file has all that a resource has. No flipped bit and no truncation of a file is accepted.
func TestFile(t *testing.T) {
	for _, key := range [][]byte{nil, key()} {
		b, err := sample().encode(key)
		if err != nil {
			t.Fatal(err)
		}
		s, err := decode([]byte(string(b)), key)
		if err != nil {
			t.Fatal(err)
		}
		want := sample().resources
		for i := range want {
			if got := s.resources[i]; !proto.Equal(got.Err, want[i].Err) {
				t.Errorf("error = %v, want %v", got.Err, want[i].Err)
			}
			s.resources[i].Err, want[i].Err = nil, nil
		}
		if !reflect.DeepEqual(s.resources, want) || s.header.Epoch != "e" || s.header.Revision != 7 {
			t.Errorf("the file has %+v, want %+v", s, want)
		}
		for i := range b {
			flipped := []byte(string(b))
			flipped[i] ^= 1 << (i % 8)
			if _, err := decode(flipped, key); err == nil {
				t.Errorf("a file with a flipped bit in byte %d is accepted", i)
			}
			if _, err := decode([]byte(string(b[:i])), key); err == nil {
				t.Errorf("a file of %d bytes instead of %d is accepted", i, len(b))
			}
		}
	}
}

// Files of an earlier release can be read, and new files are the same.
func TestFormat(t *testing.T) {
	for name, key := range map[string][]byte{"plain": nil, "sealed": key()} {
		b, err := os.ReadFile(filepath.Join("testdata", name+".state"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := decode([]byte(string(b)), key)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := s.encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := sample().encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, want) {
			t.Errorf("%s: the file has %q, want %q", name, again, want)
		}
		if key == nil && !bytes.Equal(b, want) {
			t.Errorf("new file = %q, want %q", want, b)
		}
	}
}

// A file without the key, with another key, or without encryption where a key is set is refused.
func TestKey(t *testing.T) {
	plain, err := sample().encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := sample().encode(key())
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		file, key []byte
		want      error
	}{
		"no key": {sealed, nil, durable.ErrSealed}, "another key": {sealed, []byte("fedcba9876543210"), durable.ErrKey}, "not encrypted": {plain, key(), durable.ErrNotSealed},
	} {
		if _, err := decode([]byte(string(x.file)), x.key); !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", name, err, x.want)
		}
	}
	if strings.Contains(string(sealed), "body") {
		t.Error("an encrypted file has the resources in plaintext")
	}
}

// A damaged file, and one of another source, is logged and ignored.
func TestDamagedFile(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"damaged": func(path string) error { return os.WriteFile(path, []byte(magic+"x"), 0o600) },
		"writable by others": func(path string) error {
			return os.Chmod(path, 0o666)
		},
		"of another source": func(path string) error {
			b, err := sample().encode(nil)
			return errors.Join(err, os.WriteFile(path, b, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := stored(t, nil)
				if err := damage(filepath.Join(dir, nameOf("authority "))); err != nil {
					t.Fatal(err)
				}
				p := run(t, dir, nil)
				defer p.close()
				if !p.log.has("a file of the state directory is not usable") {
					t.Errorf("log = %q, want a line about the file", p.log.list)
				}
				r, _ := p.open("a")
				r.expect(t, "start", 0, nil)
				p.fill(30, map[string]string{"a": "two"})
				r.expect(t, "source live", source.Live, map[string]string{"a": "two"})
			})
		})
	}
}

// Without a key, resources with secrets are not on disk, and a line of the log says so.
func TestSecrets(t *testing.T) {
	for _, key := range [][]byte{nil, key()} {
		synctest.Test(t, func(t *testing.T) {
			const secretURL = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
			dir := safeDir(t)
			p := run(t, dir, key)
			body, err := proto.Marshal(&tlsv3.Secret{Name: "cert"})
			if err != nil {
				t.Fatal(err)
			}
			tx := new(source.Tx).Put(source.Resource{Key: source.Key{Type: secretURL, Name: "cert"}, Body: body})
			if err := p.memory.CommitAt(t.Context(), tx, "epoch", 1); err != nil {
				t.Fatal(err)
			}
			p.fill(2, map[string]string{"a": "one"})
			pass(defaultQuiet)
			p.close()
			snap, err := readFile(t, dir, key)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]bool{"a": true}
			if key != nil {
				want["cert"] = true
			}
			got := make(map[string]bool)
			for i := range snap.resources {
				got[snap.resources[i].Name] = true
			}
			if !maps.Equal(got, want) {
				t.Errorf("with a key of %d bytes, the file has %v, want %v", len(key), got, want)
			}
			if p.log.has("resources with secrets are not written") != (key == nil) {
				t.Errorf("with a key of %d bytes, the log is %q", len(key), p.log.list)
			}
		})
	}
}

// readFile reads the file of the source as another process does.
func readFile(t *testing.T, dir string, key []byte) (*snapshot, error) {
	t.Helper()
	p := run(t, dir, key)
	defer p.close()
	return p.dir.read(nameOf("authority "), "authority ")
}

// A second process reads a directory, and writes to it when the first one is closed.
func TestTwoProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := stored(t, nil)
		first := run(t, dir, nil)
		second := run(t, dir, nil)
		r, _ := second.open("a")
		r.expect(t, "second process", source.Stale, map[string]string{"a": "one"})
		second.fill(40, map[string]string{"a": "four"})
		pass(defaultQuiet)
		if !second.log.has("cannot be written") {
			t.Errorf("log = %q, want a line about the directory", second.log.list)
		}
		first.close()
		pass(defaultMaxDelay)
		if !second.log.has("is written again") {
			t.Errorf("log = %q, want a line when the directory is written again", second.log.list)
		}
		second.close()
		third := run(t, dir, nil)
		defer third.close()
		r, _ = third.open("a")
		r.expect(t, "third process", source.Stale, map[string]string{"a": "four"})
	})
}

// A directory that others can write to is refused, as is a short key.
func TestUnsafe(t *testing.T) {
	dir := safeDir(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Path: dir}); !errors.Is(err, durable.ErrUnsafe) {
		t.Errorf("Open: %v, want %v", err, durable.ErrUnsafe)
	}
	if _, err := Open(Options{Path: safeDir(t), Key: []byte("short")}); err == nil || !strings.Contains(err.Error(), "at least 16") {
		t.Errorf("Open: %v, want an error about the key", err)
	}
}
