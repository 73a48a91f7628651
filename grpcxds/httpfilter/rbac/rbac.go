package rbac

import (
	"context"
	"fmt"

	"google.golang.org/grpc/authz/audit"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/rbac"
)

// Filter returns the RBAC filter (gRFC A41). A call that its rules do not allow ends with PERMISSION_DENIED. An
// override replaces the configuration. An override without rules disables the filter.
//
// Its audit loggers (A59) are those of the builders, and the one that writes to the standard output. A TypedStruct
// names a builder by the last part of its type URL.
func Filter(loggers ...audit.LoggerBuilder) *httpfilter.Filter {
	kinds := make([]config.AuditLogger, 0, len(loggers))
	for _, b := range loggers {
		kinds = append(kinds, auditLogger(b))
	}
	return &httpfilter.Filter{
		HTTPFilter: config.Filter(kinds...),
		NewServer: httpfilter.ServerFunc(func(c, override any) (httpfilter.ServerInterceptor, error) {
			if override != nil {
				c = override
			}
			read, ok := c.(config.Config)
			if !ok {
				return nil, fmt.Errorf("rbac: the configuration is a %T; must be one that the filter has read", c)
			}
			if read.Rules == nil {
				return nil, nil //nolint:nilnil // lets every call pass
			}
			e, err := newEngine(read)
			if err != nil {
				return nil, err
			}
			return httpfilter.ServerBefore(e.intercept), nil
		}),
	}
}

// An engine enforces rules.
type engine struct {
	config config.Config
	audit  auditors
	denial error
}

func newEngine(c config.Config) (*engine, error) {
	loggers, err := newAuditors(c.Audit)
	if err != nil {
		return nil, err
	}
	e := &engine{config: c, audit: loggers}
	if c.Rules.Deny {
		e.denial = status.Error(codes.PermissionDenied, "rbac: a policy denies the call")
	} else {
		e.denial = status.Error(codes.PermissionDenied, "rbac: no policy allows the call")
	}
	return e, nil
}

// A denial is the error of a denied call. It has the status PERMISSION_DENIED.
type denial struct {
	error
	policy string
}

// GRPCStatus returns the status.
func (d *denial) GRPCStatus() *status.Status { return status.Convert(d.error) }

// DeniedBy returns the name of the policy that denied the call. It is empty if no policy allowed it.
func (d *denial) DeniedBy() string { return d.policy }

// intercept is a [httpfilter.ServerBefore].
func (e *engine) intercept(ctx context.Context, call *httpfilter.ServerCall) (context.Context, error) {
	c := rulesCall(call)
	policy, allowed := e.config.Evaluate(&c)
	if e.audit.wants(allowed) {
		e.audit.tell(&audit.Event{FullMethodName: call.Method, Principal: e.config.Principal(&c), MatchedRule: policy, Authorized: allowed})
	}
	if !allowed {
		return ctx, &denial{error: e.denial, policy: policy}
	}
	return ctx, nil
}
