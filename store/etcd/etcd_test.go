package etcd

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const clusterURL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

func TestParseURL(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := ParseURL("etcd://a:1,b:2/x%2Fy?tls=true&server-name=n&user=u&password-file=" + password + "&timeout=2s&txn-operations=100&txn-bytes=2048")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(o.Endpoints, " ") != "a:1 b:2" || o.Tenant != "x/y" || o.TLS.ServerName != "n" || o.Username != "u" || o.Password != "secret" ||
		o.Timeout != 2*time.Second || o.TxnOperations != 100 || o.TxnBytes != 2048 {
		t.Errorf("options = %+v", o)
	}
	for url, want := range map[string]string{
		"http://a":                             "must begin with",
		"etcd://":                              "Endpoints[0] is empty",
		"etcd://a/%zz":                         "tenant",
		"etcd://a?%zz":                         "parameters",
		"etcd://a?nothing=1":                   "nothing",
		"etcd://a?user=x&user=y":               "repeated",
		"etcd://a?tls=false":                   "must be true",
		"etcd://a?cert=x":                      "together with key",
		"etcd://a?cert=/none&key=/none":        "no such file",
		"etcd://a?ca=/none":                    "no such file",
		"etcd://a?ca=" + password:              "no certificates",
		"etcd://a?server-name=x":               "needs tls=true",
		"etcd://a?password-file=/none":         "no such file",
		"etcd://a?timeout=1":                   "timeout",
		"etcd://a?txn-operations=1x":           "above zero",
		"etcd://a?txn-operations=1":            "TxnOperations = 1; must be at least 10",
		"etcd://a?txn-bytes=-1":                "above zero",
		"etcd://a/" + strings.Repeat("x", 257): "at most 256",
	} {
		if _, err := ParseURL(url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v; want %q", url, err, want)
		}
	}
}

func TestOptions(t *testing.T) {
	_, err := Open(Options{Author: strings.Repeat("x", 257), CheckInterval: -1, MaxResources: 1_000_000, MaxBytes: -1, TxnBytes: 1})
	for _, want := range []string{"Endpoints = 0", "Author = 257", "CheckInterval = -1ns", "MaxResources = 1000000; must not be more than 500000", "MaxBytes = -1", "TxnBytes = 1;"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v; want %q", err, want)
		}
	}
}

func TestKeys(t *testing.T) {
	k := keysOf("a/b")
	for _, r := range []source.Key{{Type: clusterURL, Name: "x"}, {Type: clusterURL, Name: "xdstp://a/t/x/y?k=v"}, {Type: "h/m", Name: "/"}} {
		key := k.resource(r)
		if got, ok := k.parse([]byte(key)); !ok || got != r {
			t.Errorf("parse(%q) = %v, %v; want %v", key, got, ok, r)
		}
		if key < k.resources || key >= k.endOfResources || key < k.watched || key >= k.end {
			t.Errorf("key %q is outside of the ranges", key)
		}
	}
	for _, key := range []string{"/xds/other/r/h/m/x", k.resources, k.resources + "h", k.resources + "h/m"} {
		if r, ok := k.parse([]byte(key)); ok {
			t.Errorf("parse(%q) = %v; want none", key, r)
		}
	}
	for _, key := range []string{k.generation, k.epoch, k.batch} {
		if key < k.watched || key >= k.resources {
			t.Errorf("key %q is outside of the range", key)
		}
	}
	if k.chunks >= k.watched {
		t.Errorf("chunks %q are watched", k.chunks)
	}
	if err := checkType(source.Key{Type: "a/b/c", Name: "x"}); err == nil {
		t.Error("a type with two slashes is accepted")
	}
}

func TestValues(t *testing.T) {
	full := source.Resource{
		Key: source.Key{Type: clusterURL, Name: "x"}, Body: []byte("body"), Aliases: []string{"y"}, TTL: time.Second,
		Expires: time.Unix(1, 2).UTC(),
	}
	failed := source.Resource{Key: full.Key, Err: &rpcstatus.Status{Code: 7, Message: "no"}}
	for _, r := range []source.Resource{full, failed, {Key: full.Key, Body: []byte{}}} {
		w, err := wrap(&r)
		if err != nil {
			t.Fatal(err)
		}
		data, err := encode(w)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(r.Key, data, 36)
		if err != nil {
			t.Fatal(err)
		}
		if got.Version != "10-"+source.Version(&r) || got.revision != 36 {
			t.Errorf("version = %q at revision %d", got.Version, got.revision)
		}
		if !bytes.Equal(got.Body, r.Body) || (got.Body == nil) != (r.Body == nil) || got.TTL != r.TTL || !got.Expires.Equal(r.Expires) ||
			len(got.Aliases) != len(r.Aliases) || got.Err.GetMessage() != r.Err.GetMessage() {
			t.Errorf("resource = %+v; want %+v", got.Resource, r)
		}
		if _, err := decode(source.Key{Type: "h/other", Name: "x"}, data, 1); r.Err == nil && err == nil {
			t.Error("a value of another type is accepted")
		}
	}
	if _, err := decode(full.Key, []byte("no message"), 1); err == nil {
		t.Error("an invalid value is accepted")
	}
}

// An inbox keeps the newest event of each key, and gives an error away last.
func TestInbox(t *testing.T) {
	b := newInbox(5)
	event := func(key string, revision int64) *clientv3.Event {
		return &clientv3.Event{Kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: revision}}
	}
	for i := range int64(1000) {
		b.put([]*clientv3.Event{event("a", 6+2*i), event("b", 7+2*i)}, 0, nil)
	}
	broken := errors.New("broken")
	b.put(nil, 9999, broken)
	events, revision, err := b.take()
	if len(events) != 2 || events["a"].Kv.ModRevision != 2004 || revision != 2005 || !errors.Is(err, broken) {
		t.Errorf("take = %d events, revision %d, %v; want the two newest, 2005, and the error", len(events), revision, err)
	}
	if !b.reached(2005) || b.reached(2006) {
		t.Error("reached contradicts the revision")
	}
	if events, _, _ := b.take(); len(events) != 0 {
		t.Errorf("second take = %d events; want none", len(events))
	}
}

// A response with events may have the revision of the store in its header, while more events follow.
func TestInboxStopsAtTheLastEvent(t *testing.T) {
	watch := make(chan clientv3.WatchResponse, 2)
	watch <- clientv3.WatchResponse{
		Header: &etcdserverpb.ResponseHeader{Revision: 5000},
		Events: []*clientv3.Event{{Kv: &mvccpb.KeyValue{Key: []byte("a"), ModRevision: 1000}}},
	}
	close(watch)
	b := newInbox(5)
	b.drain(watch)
	if _, revision, err := b.take(); revision != 1000 || !errors.Is(err, errWatchEnded) {
		t.Errorf("revision = %d, %v; want that of the last event, 1000, and the end of the watch", revision, err)
	}
	watch = make(chan clientv3.WatchResponse, 1)
	watch <- clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: 6000}}
	close(watch)
	b.drain(watch)
	if _, revision, _ := b.take(); revision != 6000 {
		t.Errorf("revision = %d after a progress notification; want 6000", revision)
	}
}

func TestClosedStore(t *testing.T) {
	s, err := Open(Options{Endpoints: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Commit(ctx, new(source.Tx)); !errors.Is(err, context.Canceled) {
		t.Errorf("commit with a canceled context: %v", err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Open(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("open after Close: %v; want ErrClosed", err)
	}
}

// The version in the store is the digest of the content, whatever version the program chose. Dates with equal ends are not
// the same version.
func TestVersionsOfPrograms(t *testing.T) {
	decoded := func(version, body string) source.Resource {
		r := source.Resource{Key: source.Key{Type: clusterURL, Name: "a"}, Version: version, Body: []byte(body)}
		w, err := wrap(&r)
		if err != nil {
			t.Fatal(err)
		}
		e, err := unwrap(r.Key, w, 40)
		if err != nil {
			t.Fatal(err)
		}
		return e.Resource
	}
	last, next := decoded("2025-11-27", "1"), decoded("2026-11-27", "2")
	if source.SameVersion(last.Version, next.Version) || digestOf(&last) == digestOf(&next) {
		t.Errorf("versions = %q and %q of different contents; want different digests", last.Version, next.Version)
	}
	plain := decoded("", "1")
	if !source.SameVersion(last.Version, plain.Version) || plain.Version != "14-"+source.Version(&plain) {
		t.Errorf("versions = %q and %q of equal contents; want the revision and the digest", last.Version, plain.Version)
	}
}
