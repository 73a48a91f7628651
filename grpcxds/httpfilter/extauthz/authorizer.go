package extauthz

import (
	"context"
	"errors"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/extauthz/internal/decision"
	"github.com/xdsforge/xdsforge/internal/printable"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/extauthz"
)

const (
	// failureHeader marks calls that are allowed although their check has failed.
	failureHeader = "x-envoy-auth-failure-mode-allowed"
	// maxResponse is the limit of a response of the authorization server, in bytes.
	maxResponse = 1 << 20
	perMillion  = 1_000_000
)

// An authorizer asks an authorization server about calls, with one configuration.
type authorizer struct {
	config  config.Config
	server  authv3.AuthorizationClient
	release func()
	metrics *metrics
	random  func(n uint32) uint32 // returns a random number below n
}

func newServer(cc grpc.ClientConnInterface) authv3.AuthorizationClient {
	return authv3.NewAuthorizationClient(cc)
}

// Close releases the channel to the authorization server.
func (a *authorizer) Close() error {
	a.release()
	return nil
}

// A verdict is the result for a call that may pass.
type verdict struct {
	*decision.Decision      // nil: the call was not checked, or its check has failed
	marked             bool // the call gets the failureHeader
}

// authorize decides about a call. attributes describes the call. The error is the status of a call that does not pass; its
// trailers are those of the decision, if there is one.
func (a *authorizer) authorize(ctx context.Context, cluster string, attributes func() *authv3.AttributeContext) (verdict, error) {
	if n := a.config.EnabledPerMillion; n < perMillion && a.random(perMillion) >= n {
		a.metrics.disabled(ctx, cluster)
		if a.config.DenyAtDisable {
			return verdict{}, a.failed("the configuration denies calls that are not checked")
		}
		return verdict{}, nil
	}
	d, err := a.check(ctx, attributes())
	if err != nil {
		a.metrics.failed(ctx, cluster)
		switch {
		case ctx.Err() != nil:
			return verdict{}, status.FromContextError(ctx.Err()).Err()
		case a.config.FailureModeAllow && !errors.Is(err, decision.ErrDisallowed):
			return verdict{marked: a.config.FailureModeHeader}, nil
		}
		return verdict{}, a.failed(printable.Error(err).Error())
	}
	if !d.Allowed {
		a.metrics.denied(ctx, cluster)
		text := "extauthz: the authorization server denies the call"
		if d.Message != "" {
			text += ": " + printable.Text(d.Message, printable.Quoted)
		}
		return verdict{Decision: d}, status.Error(codes.Code(d.Code), text)
	}
	a.metrics.allowed(ctx, cluster)
	return verdict{Decision: d}, nil
}

// check asks the authorization server.
func (a *authorizer) check(ctx context.Context, attributes *authv3.AttributeContext) (*decision.Decision, error) {
	m, err := a.server.Check(ctx, &authv3.CheckRequest{Attributes: attributes}, grpc.MaxCallRecvMsgSize(maxResponse))
	if err != nil {
		return nil, err
	}
	return decision.Decide(&a.config, m)
}

// failed returns the status of a call whose check has failed, or that was not checked.
func (a *authorizer) failed(reason string) error {
	return status.Error(codes.Code(a.config.StatusOnError), "extauthz: "+reason)
}

// request returns the metadata of a call after the changes of the verdict. It returns false if there are none. It changes md,
// which is a copy.
func (v verdict) request(md metadata.MD) (metadata.MD, bool) {
	changes := v.Decision != nil && v.ChangesRequest()
	if !changes && !v.marked {
		return md, false
	}
	if md == nil {
		md = make(metadata.MD)
	}
	if changes {
		v.Request(md)
	}
	if v.marked {
		md.Set(failureHeader, "true")
	}
	return md, true
}

// changesResponse reports whether the headers of the response change.
func (v verdict) changesResponse() bool { return v.Decision != nil && v.ChangesResponse() }

// response returns the headers of a response after the changes.
func (v verdict) response(md metadata.MD) metadata.MD {
	md = md.Copy()
	if md == nil {
		md = make(metadata.MD)
	}
	v.Response(md)
	return md
}
