// Package fakeauthz has an authorization server for tests (envoy.service.auth.v3.Authorization).
package fakeauthz

import (
	"context"
	"net"
	"sync/atomic"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// A Check decides about a call.
type Check func(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error)

// A Server is an authorization server on loopback. At first it allows every call.
type Server struct {
	// Checks is the number of calls that it was asked about, and Connections that of connections.
	Checks, Connections atomic.Int64

	authv3.UnimplementedAuthorizationServer
	check  atomic.Pointer[Check]
	server *grpc.Server
	lis    net.Listener
}

// Start starts a server. The caller stops it.
func Start(opts ...grpc.ServerOption) (*Server, error) {
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{server: grpc.NewServer(opts...), lis: lis}
	s.Decide(func(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error) { return Allow(nil), nil })
	authv3.RegisterAuthorizationServer(s.server, s)
	go func() { _ = s.server.Serve(counted{lis, &s.Connections}) }()
	return s, nil
}

// A counted listener counts connections.
type counted struct {
	net.Listener
	n *atomic.Int64
}

// Accept implements [net.Listener].
func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

// Addr returns the address.
func (s *Server) Addr() string { return s.lis.Addr().String() }

// Stop stops the server.
func (s *Server) Stop() { s.server.Stop() }

// Decide replaces the function that decides.
func (s *Server) Decide(f Check) { s.check.Store(&f) }

// Check implements the service.
func (s *Server) Check(ctx context.Context, m *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	s.Checks.Add(1)
	return (*s.check.Load())(ctx, m)
}

// Allow returns a response that allows a call. ok may be nil.
func Allow(ok *authv3.OkHttpResponse) *authv3.CheckResponse {
	m := new(authv3.CheckResponse)
	if ok != nil {
		m.HttpResponse = &authv3.CheckResponse_OkResponse{OkResponse: ok}
	}
	return m
}

// Deny returns a response that denies a call with an HTTP status and a text. The status 0 is unset.
func Deny(http int32, text string, headers ...*corev3.HeaderValueOption) *authv3.CheckResponse {
	denied := &authv3.DeniedHttpResponse{Headers: headers}
	if http != 0 {
		denied.Status = &typev3.HttpStatus{Code: typev3.StatusCode(http)}
	}
	return &authv3.CheckResponse{
		Status:       &rpcstatus.Status{Code: int32(codes.PermissionDenied), Message: text},
		HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: denied},
	}
}

// Header returns a change of a header.
func Header(name, value string, action corev3.HeaderValueOption_HeaderAppendAction) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: name, RawValue: []byte(value)}, AppendAction: action}
}
