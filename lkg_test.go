package xdsforge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/csds"
	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
)

// A client starts from the store while the control plane is unreachable. Events, snapshots, CSDS and the
// log say so. The control plane replaces the store without a moment without the resource.
func TestLastKnownGood(t *testing.T) {
	t.Run("option", func(t *testing.T) {
		testLastKnownGood(t, xdsforge.WithLastKnownGood(lkg.Options{Dir: filepath.Join(t.TempDir(), "lkg")}))
	})
	t.Run("bootstrap", func(t *testing.T) {
		key := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(key, []byte("0123456789abcdef\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		field := fmt.Sprintf(`, "xdsforge": {"last_known_good": {"dir": %q, "key_file": %q}}}`, filepath.Join(t.TempDir(), "lkg"), key)
		testLastKnownGood(t, xdsforge.WithBootstrap(parse(t, strings.TrimSuffix(someBootstrap, "}")+field)))
	})
}

func testLastKnownGood(t *testing.T, store xdsforge.Option) {
	synctest.Test(t, func(t *testing.T) {
		server := memoryads.NewServer(memoryads.Type{URL: cluster.Type().URL(), Complete: true})
		set := func(requests uint32) {
			body, err := proto.Marshal(&clusterv3.Cluster{
				Name: "a", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
				EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{}}},
				CircuitBreakers:  &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{MaxRequests: wrapperspb.UInt32(requests)}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			server.Set(cluster.Type().URL(), memoryads.Resource{Name: "a", Body: body})
		}
		set(1)
		var events []string
		open := func() (*xdsforge.Env, *xdsforge.Client) {
			env := newEnv(t, xdsforge.WithTransport(memoryads.Network{"memory": server}), store)
			c, err := env.NewClient()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cluster.Subscribe(c, "a", func(ev cluster.Event) {
				if ev.Update == nil || (ev.Ambient != nil) != (ev.Origin == resource.OriginStored) {
					t.Errorf("event %v; want an update, with an ambient error only if it is stored", ev)
				}
				events = append(events, ev.Origin.String())
			}); err != nil {
				t.Fatal(err)
			}
			wait(time.Minute)
			return env, c
		}
		env, c := open()
		if err := errors.Join(c.Close(), env.Close()); err != nil {
			t.Fatal(err)
		}
		server.Refuse(errors.New("refused"))
		env, c = open()
		defer func() { _ = errors.Join(c.Close(), env.Close()) }()
		wantOrigin(t, env, c, resource.OriginStored)
		set(2)
		server.Refuse(nil)
		wait(time.Minute)
		wantOrigin(t, env, c, resource.OriginPrimary)
		if got := strings.Join(events, " "); got != "primary stored primary" {
			t.Errorf("events = %s, want primary stored primary", got)
		}
	})
}

func wait(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

// A registrar keeps the CSDS service.
type registrar struct {
	service statusv3.ClientStatusDiscoveryServiceServer
}

func (r *registrar) RegisterService(_ *grpc.ServiceDesc, service any) {
	r.service = service.(statusv3.ClientStatusDiscoveryServiceServer)
}

// wantOrigin checks the snapshot and the CSDS of a client with one resource.
func wantOrigin(t *testing.T, env *xdsforge.Env, c *xdsforge.Client, want resource.Origin) {
	t.Helper()
	s, err := c.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Resources) != 1 || s.Resources[0].Origin != want || s.Authorities[0].Stored != (want == resource.OriginStored) {
		t.Errorf("snapshot %v with authority %v; want the origin %v", s.Resources, s.Authorities[0], want)
	}
	var r registrar
	if err := csds.Register(&r, env); err != nil {
		t.Fatal(err)
	}
	resp, err := r.service.FetchClientStatus(context.Background(), &statusv3.ClientStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if static := resp.GetConfig()[0].GetGenericXdsConfigs()[0].GetIsStaticResource(); static != (want == resource.OriginStored) {
		t.Errorf("CSDS: is_static_resource = %v with the origin %v", static, want)
	}
}

// The file of the key of a bootstrap is bounded, and nobody else may read it.
func TestKeyFileRefusals(t *testing.T) {
	dir := t.TempDir()
	for want, file := range map[string]struct {
		mode    os.FileMode
		content string
	}{
		"must give others no permission": {0o604, "0123456789abcdef"},
		"size = more than 4096 bytes":    {0o600, strings.Repeat("x", 4097)},
		"the file is empty":              {0o600, "\n"},
		"Key = 3 bytes":                  {0o600, "abc"},
	} {
		key := filepath.Join(dir, fmt.Sprint(len(file.content)))
		if err := errors.Join(os.WriteFile(key, []byte(file.content), 0o600), os.Chmod(key, file.mode)); err != nil {
			t.Fatal(err)
		}
		field := fmt.Sprintf(`, "xdsforge": {"last_known_good": {"dir": %q, "key_file": %q}}}`, filepath.Join(dir, "lkg"), key)
		_, err := xdsforge.NewEnv(xdsforge.WithBootstrap(parse(t, strings.TrimSuffix(someBootstrap, "}")+field)), xdsforge.WithTypes(cluster.Register))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want one with %q", err, want)
		}
	}
}

// NewEnv refuses a directory that others can write to, and one of another node.
func TestLastKnownGoodRefusals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lkg")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		options lkg.Options
		want    string
	}{
		{lkg.Options{Dir: dir}, lkg.ErrUnsafe.Error()},
		{lkg.Options{}, "WithLastKnownGood: Dir"},
		{lkg.Options{Dir: dir, Keep: -1}, "Keep = -1"},
	} {
		_, err := xdsforge.NewEnv(xdsforge.WithBootstrap(parse(t, someBootstrap)), xdsforge.WithTypes(cluster.Register), xdsforge.WithLastKnownGood(row.options))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("error = %v, want one with %q", err, row.want)
		}
	}
}
