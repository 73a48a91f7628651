package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/loopback"
	"github.com/xdsforge/xdsforge/internal/testca"
)

// A serverStory is a server that istiod's inbound Listener configures, with a channel to it.
type serverStory struct {
	*istiod
	cc *grpc.ClientConn
}

// server tells the story of a server: without TLS, then with mutual TLS, each with authorization policies.
func (i *istiod) server(ctx context.Context, v variant) (string, error) {
	ca, err := testca.New("mesh")
	if err != nil {
		return "", err
	}
	port, err := loopback.Reserve()
	if err != nil {
		return "", err
	}
	defer port.Close()
	if err := i.write("secure.yaml", service("secure", endpointOf{port.Addr(), "v1"})); err != nil {
		return "", err
	}
	s := &serverStory{istiod: i}
	defer s.clean()
	if err := i.known(ctx, "secure", port.Addr()); err != nil {
		return "", err
	}
	modes := make(chan grpcxds.ModeChange, 100)
	env, stop, err := s.member(ca, "secure", "127.0.0.1", v)
	if err != nil {
		return "", err
	}
	defer stop()
	server, err := grpcxds.ServerConfig{Env: env, ModeChanged: func(c grpcxds.ModeChange) { modes <- c }}.NewServer(grpcxds.Creds(insecure.NewCredentials()))
	if err != nil {
		return "", err
	}
	defer server.Stop() //nolint:contextcheck // it ends all parts
	newBackend("secure").register(server)
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", port.Addr())
	if err != nil {
		return "", err
	}
	go func() { _ = server.Serve(lis) }() //nolint:contextcheck // it ends with Stop
	if err := s.serves(ctx, modes); err != nil {
		return "", err
	}
	env, stop, err = s.member(ca, "caller", "10.9.9.1", v)
	if err != nil {
		return "", err
	}
	defer stop()
	s.cc, err = grpcxds.Dialer{Env: env}.NewClient("xds:///secure"+domain+":80", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", err
	}
	defer s.cc.Close()
	return "plaintext, DENY, mutual TLS, ALLOW by the caller's identity", s.tell(ctx)
}

// serves waits until the server serves.
func (s *serverStory) serves(ctx context.Context, modes <-chan grpcxds.ModeChange) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	var last error
	for {
		select {
		case c := <-modes:
			if c.Mode == grpcxds.Serving {
				return nil
			}
			last = c.Err
		case <-ctx.Done():
			return fmt.Errorf("the server serves: %w; %w", ctx.Err(), last)
		}
	}
}

// member returns the Env of a workload, with a certificate of its identity.
func (s *serverStory) member(ca *testca.CA, name, ip string, v variant) (_ *xdsforge.Env, stop func(), err error) {
	dir, err := os.MkdirTemp(s.dir, name)
	if err != nil {
		return nil, nil, err
	}
	cert, err := ca.Issue(x509.Certificate{URIs: []*url.URL{{Scheme: "spiffe", Host: "cluster.local", Path: "/ns/default/sa/" + name}}})
	if err == nil {
		err = testca.WritePair(dir, cert)
	}
	if err == nil {
		err = testca.Write(filepath.Join(dir, "ca.pem"), ca.PEM())
	}
	if err != nil {
		return nil, nil, err
	}
	config, err := s.bootstrap(node{ip: ip, name: name, kind: "sidecar", generator: "grpc"}, v, dir)
	if err != nil {
		return nil, nil, err
	}
	env, err := xdsforge.NewEnv(xdsforge.WithTypes(grpcxds.Register), xdsforge.WithBootstrap(config), xdsforge.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, nil, err
	}
	return env, func() { _ = env.Close() }, nil
}

// clean removes the configuration.
func (s *serverStory) clean() {
	for _, name := range []string{"secure.yaml", "secure-tls.yaml", "secure-policy.yaml"} {
		_ = s.remove(name) // the story may not have written it
	}
}

// policy writes an AuthorizationPolicy.
func (s *serverStory) policy(action, rule string) error {
	return s.write("secure-policy.yaml", fmt.Sprintf(`apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: secure, namespace: default}
spec:
  action: %s
  rules: [%s]
`, action, rule))
}

// tell tells the steps.
func (s *serverStory) tell(ctx context.Context) error {
	if err := s.answers(ctx, "without TLS", codes.OK, codes.OK); err != nil {
		return err
	}
	if err := s.policy("DENY", "{to: [{operation: {paths: [/xdsforge.Peer/Other]}}]}"); err != nil {
		return err
	}
	if err := s.answers(ctx, "with a DENY policy", codes.OK, codes.PermissionDenied); err != nil {
		return err
	}
	if err := s.write("secure-tls.yaml", `apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: secure, namespace: default}
spec: {mtls: {mode: STRICT}}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: secure, namespace: default}
spec:
  host: secure`+domain+`
  trafficPolicy: {tls: {mode: ISTIO_MUTUAL}}
`); err != nil {
		return err
	}
	allow := func(name string) error {
		return s.policy("ALLOW", "{from: [{source: {principals: [cluster.local/ns/default/sa/"+name+"]}}]}")
	}
	// Only a caller with a certificate has a principal, so this shows that the connection has mutual TLS.
	if err := allow("caller"); err != nil {
		return err
	}
	if err := s.answers(ctx, "with mutual TLS, which the policy allows", codes.OK, codes.OK); err != nil {
		return err
	}
	if err := allow("somebody"); err != nil {
		return err
	}
	return s.answers(ctx, "with a policy for another caller", codes.PermissionDenied, codes.PermissionDenied)
}

// answers makes calls to both methods until they end with the given codes.
func (s *serverStory) answers(ctx context.Context, about string, who, other codes.Code) error {
	var got, also error
	err := until(ctx, about, func() bool {
		_, got = call(ctx, s.cc, whoMethod)
		_, also = call(ctx, s.cc, otherMethod)
		return status.Code(got) == who && status.Code(also) == other
	})
	if err != nil {
		return fmt.Errorf("%w; the last calls end with %w and %w; want %v and %v", err, got, also, who, other)
	}
	return nil
}
