package grpcxds

import (
	"errors"
	"testing"

	"google.golang.org/grpc"
	channelzpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	channelz "google.golang.org/grpc/channelz/service"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// A registrar takes the service of channelz.
type registrar struct{ channelzpb.ChannelzServer }

func (r *registrar) RegisterService(_ *grpc.ServiceDesc, impl any) {
	r.ChannelzServer = impl.(channelzpb.ChannelzServer)
}

// After Stop, a server has left channelz and still lists its services.
func TestStopForgetsTheCatalogue(t *testing.T) {
	w := newWorld(t)
	var r registrar
	channelz.RegisterChannelzServiceToServer(&r) // switches channelz on
	count := func() int {
		got, err := r.GetServers(w.ctx, &channelzpb.GetServersRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return len(got.GetServer())
	}
	before := count()
	closed, err := xdsforge.NewEnv(xdsforge.WithBootstrap(parse(t, w.config)), xdsforge.WithTypes(Register))
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	if _, err := (ServerConfig{Env: closed}).NewServer(); !errors.Is(err, resource.ErrClosed) {
		t.Errorf("%v; want %v", err, resource.ErrClosed)
	}
	s, err := ServerConfig{Env: w.env}.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	testpb.RegisterTestServiceServer(s, echo{})
	if n := len(s.GetServiceInfo()); n == 0 {
		t.Error("no services")
	}
	s.GracefulStop()
	if n := count(); n != before {
		t.Errorf("%d servers; want %d", n, before)
	}
	if n := len(s.GetServiceInfo()); n == 0 {
		t.Error("no services once it has stopped")
	}
}
