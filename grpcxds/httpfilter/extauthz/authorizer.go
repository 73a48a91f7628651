package extauthz

import (
	"context"
	"errors"
	"fmt"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/extauthz/internal/decision"
	"github.com/xdsforge/xdsforge/grpcxds/internal/sidechannel"
	"github.com/xdsforge/xdsforge/internal/printable"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/extauthz"
)

const (
	// failureHeader marks calls that are allowed although their check has failed.
	failureHeader = "x-envoy-auth-failure-mode-allowed"
	// maxResponse is the limit of a response of the authorization server, in bytes.
	maxResponse = 1 << 20
	// maxRequest is the limit of a request to the authorization server, in bytes. Clients choose their metadata, and servers of
	// gRPC refuse messages above 4 MiB by default.
	maxRequest = 1 << 20
	perMillion = 1_000_000
)

// errTooLarge is the error of a call whose description is too large to be sent.
var errTooLarge = errors.New("the description of the call")

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
		switch end := ended(ctx); {
		case end != nil:
			return verdict{}, end
		case a.config.FailureModeAllow && forgivable(err):
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

// check asks the authorization server, within the time limit of the configuration. The deadline of the call does not limit the
// check, because clients choose it: it ends the call, and with it the check.
func (a *authorizer) check(ctx context.Context, attributes *authv3.AttributeContext) (*decision.Decision, error) {
	request := &authv3.CheckRequest{Attributes: attributes}
	if n := proto.Size(request); n > maxRequest {
		return nil, fmt.Errorf("%w = %d bytes; must have at most %d, so send less metadata or select it by allowed_headers", errTooLarge, n, maxRequest)
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	m, err := a.server.Check(inner, request, grpc.MaxCallRecvMsgSize(maxResponse))
	if err != nil {
		return nil, err
	}
	return decision.Decide(&a.config, m)
}

// ended returns the status of a call that has ended, or nil. A deadline may have passed before its timer runs.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return status.FromContextError(context.DeadlineExceeded).Err()
	}
	return nil
}

// forgivable reports whether FailureModeAllow allows a call whose check has failed. A failure that the caller can cause denies.
func forgivable(err error) bool {
	switch {
	case errors.Is(err, decision.ErrDisallowed), errors.Is(err, decision.ErrDenied), errors.Is(err, errTooLarge):
		return false
	}
	return sidechannel.Forgivable(err)
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
