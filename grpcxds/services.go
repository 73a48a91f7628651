package grpcxds

import (
	"errors"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/xdsforge/xdsforge/framework/grpcservice"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/environment"
)

// A serviceDialer creates the channels to services that resources name (gRFC A102).
type serviceDialer struct {
	env       *environment.Env
	providers *security.Providers
}

// dial creates the channel to a service. A target with the scheme xds is configured by the control planes of the Env. The
// program's options for child channels come first (gRFC A110), so that they override nothing and a plugin among them sees a
// call before the interceptors of a target with the scheme xds.
func (d serviceDialer) dial(s *grpcservice.Service) (*grpc.ClientConn, func(), error) {
	creds, release, err := d.credentials(s)
	if err != nil {
		return nil, nil, err
	}
	opts := slices.Concat(d.env.Credentials().ChildDialOptions(), []grpc.DialOption{
		// gRPC refuses a bundle beside transport credentials.
		grpc.WithTransportCredentials(nil), grpc.WithCredentialsBundle(nil),
	}, creds)
	target := s.Server.URI()
	if isXDS(target) {
		from := &source{inner: d.env, service: true}
		if _, err := listenerFor(d.env.Config(), target); err != nil {
			release()
			return nil, nil, err
		}
		opts = append(opts, Dialer{}.options(from)...)
	}
	cc, err := grpc.NewClient(target, opts...)
	if err != nil {
		release()
		return nil, nil, err
	}
	return cc, release, nil
}

// credentials returns the credentials of a service as dial options.
func (d serviceDialer) credentials(s *grpcservice.Service) ([]grpc.DialOption, func(), error) {
	var channel credentials.TransportCredentials
	var opts []grpc.DialOption
	var release func()
	if s.TLS != nil {
		channel, release = d.providers.Service(s.TLS)
	} else {
		bundle, calls, free, err := d.env.Credentials().ServiceCredentials(s.Server)
		if err != nil {
			return nil, nil, err
		}
		if !s.Managed {
			return append(calls, grpc.WithCredentialsBundle(bundle)), free, nil
		}
		channel, opts, release = bundle.TransportCredentials(), calls, free
		if per := bundle.PerRPCCredentials(); per != nil {
			opts = append(opts, grpc.WithPerRPCCredentials(per))
		}
	}
	if s.Managed {
		channel = ClientCredentials(channel)
	}
	return append(opts, grpc.WithTransportCredentials(channel)), release, nil
}

func isXDS(target string) bool {
	scheme, _, ok := strings.Cut(target, ":")
	return ok && strings.EqualFold(scheme, "xds")
}

// errNested is the error of filters on the channel to a service.
var errNested = errors.New("grpcxds: the HTTP filter calls a service, and the channel to a service must not use other services")

// host returns the part of a filter's host that channels and servers share. The filters of a channel to a service get no
// channels, because a service that needs itself would never end a call.
func (e *opened) host(service bool) httpfilter.Host {
	h := httpfilter.Host{Channel: e.services.Channel, Meter: e.Meter()}
	if service {
		h.Channel = func(*grpcservice.Service) (grpc.ClientConnInterface, func(), error) { return nil, nil, errNested }
	}
	return h
}
