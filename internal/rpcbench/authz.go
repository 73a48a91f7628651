package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3" // for prototext
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// The channels of -filters that ask an authorization server before each call: by an interceptor of the program, and by the
// filter ext_authz.
const (
	withCheck = oursName + ", interceptor that authorizes"
	withAuthz = oursName + ", filter that authorizes"
)

// authzFilter is the configuration of the filter.
func authzFilter(authz string) string {
	return fmt.Sprintf(`[type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz] { grpc_service { google_grpc { target_uri: %q } } }`, authz)
}

// A checker asks an authorization server before each call.
type checker struct{ authv3.AuthorizationClient }

func newChecker(authz string) (checker, error) {
	cc, err := grpc.NewClient(authz, grpc.WithTransportCredentials(insecure.NewCredentials()))
	return checker{authv3.NewAuthorizationClient(cc)}, err
}

// check asks about a call.
func (c checker) check(ctx context.Context, method string) error {
	md, _ := metadata.FromOutgoingContext(ctx)
	var headers []*corev3.HeaderValue
	for name, values := range md {
		for _, value := range values {
			raw := []byte(value)
			if strings.HasSuffix(name, "-bin") {
				raw = base64.StdEncoding.AppendEncode(nil, raw)
			}
			headers = append(headers, &corev3.HeaderValue{Key: name, RawValue: raw})
		}
	}
	m, err := c.Check(metadata.NewOutgoingContext(ctx, metadata.MD{}), &authv3.CheckRequest{Attributes: &authv3.AttributeContext{Request: &authv3.AttributeContext_Request{
		Time: timestamppb.Now(),
		Http: &authv3.AttributeContext_HttpRequest{Method: "POST", Path: method, Size: -1, Protocol: "HTTP/2", HeaderMap: &corev3.HeaderMap{Headers: headers}},
	}}})
	switch {
	case err != nil:
		return err
	case m.GetStatus().GetCode() != 0:
		return status.Error(codes.PermissionDenied, m.GetStatus().GetMessage())
	}
	return nil
}

func (c checker) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if err := c.check(ctx, method); err != nil {
		return err
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

func (c checker) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if err := c.check(ctx, method); err != nil {
		return nil, err
	}
	return open(ctx, desc, cc, method, opts...)
}
