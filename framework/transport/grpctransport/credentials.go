package grpctransport

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/jwt"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
)

// ChannelCredentials builds the credentials of one server from the "config" of its entry in the
// bootstrap file, which is nil if there is none. The transport calls release, if not nil, when it
// closes the connection.
type ChannelCredentials func(config json.RawMessage) (b credentials.Bundle, release func(), err error)

func builtinChannelCredentials() map[string]ChannelCredentials {
	return map[string]ChannelCredentials{
		"insecure": func(json.RawMessage) (credentials.Bundle, func(), error) {
			return insecure.NewBundle(), nil, nil
		},
		"google_default": func(json.RawMessage) (credentials.Bundle, func(), error) {
			return newGoogleDefault(), nil, nil
		},
		"tls": newTLS,
	}
}

// dialCredentials holds the credentials of an entry as dial options.
type dialCredentials struct {
	options []grpc.DialOption // without the bundle
	bundle  credentials.Bundle
	release func()
}

func (t *Transport) credentials(server *bootstrap.Server) (dialCredentials, error) {
	selected := server.ChannelCreds()
	build, ok := t.channel[selected.Type()]
	if !ok {
		return dialCredentials{}, fmt.Errorf("channel_creds type %q is not known; add it with WithChannelCredentials", selected.Type())
	}
	bundle, release, err := build(selected.Config())
	if err != nil {
		return dialCredentials{}, fmt.Errorf("channel_creds type %q: %w", selected.Type(), err)
	}
	if release == nil {
		release = func() {}
	}
	d := dialCredentials{bundle: bundle, release: release}
	for _, c := range server.CallCreds() {
		perRPC, err := newCallCredentials(c)
		if err != nil {
			release()
			return dialCredentials{}, fmt.Errorf("call_creds type %q: %w", c.Type(), err)
		}
		// gRFC A97: call credentials are not used on a channel without security.
		if bundle.TransportCredentials().Info().SecurityProtocol != "insecure" {
			d.options = append(d.options, grpc.WithPerRPCCredentials(perRPC))
		}
	}
	return d, nil
}

// ServiceCredentials returns the credentials of a channel to a service that the bootstrap allows resources to name (gRFC
// A102), from the same registry as those of control planes. The options have the call credentials. release frees the
// credentials after the channel was closed.
func (t *Transport) ServiceCredentials(service *bootstrap.Server) (b credentials.Bundle, opts []grpc.DialOption, release func(), err error) {
	d, err := t.credentials(service)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("grpctransport: service %s: %w", service.URI(), err)
	}
	return d.bundle, d.options, d.release, nil
}

func newCallCredentials(c bootstrap.Creds) (credentials.PerRPCCredentials, error) {
	if c.Type() != "jwt_token_file" {
		return nil, errors.New("is not known; the only one is jwt_token_file")
	}
	var config struct {
		File string `json:"jwt_token_file"`
	}
	if err := json.Unmarshal(c.Config(), &config); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return jwt.NewTokenFileCallCredentials(config.File)
}
