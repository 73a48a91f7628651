package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/extensions/faults"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
)

// Filter returns the fault injection filter (gRFC A33). It delays and aborts calls before anything is sent. The two
// faults are decided independently, and the delay comes first. An override replaces the configuration. An abort with
// the status OK ends the call with [httpfilter.ErrEnd].
//
// The limit of active faults applies across all interceptors of one Filter.
func Filter() *httpfilter.Filter { return newFilter(rand.Uint32N) }

// newFilter makes the filter. random returns a random number below n.
func newFilter(random func(n uint32) uint32) *httpfilter.Filter {
	shared := &faults.Faults{Random: random}
	return &httpfilter.Filter{
		HTTPFilter: config.Filter(),
		NewClient: httpfilter.ClientFunc(func(c, override any) (httpfilter.ClientInterceptor, error) {
			if override != nil {
				c = override
			}
			read, ok := c.(config.Config)
			if !ok {
				return nil, fmt.Errorf("fault: the configuration is a %T; must be one that the filter has read", c)
			}
			if read.Delay == nil && read.Abort == nil {
				return nil, nil //nolint:nilnil // lets every call pass
			}
			i := &injector{config: read, faults: shared}
			return httpfilter.ClientBefore(i.intercept), nil
		}),
	}
}

// An injector injects the faults of a configuration.
type injector struct {
	config config.Config
	faults *faults.Faults
}

// intercept is a [httpfilter.ClientBefore].
func (i *injector) intercept(ctx context.Context, call *httpfilter.ClientCall) (context.Context, error) {
	wait, code := i.faults.Delay(i.config.Delay, call.Metadata[delayHeader], call.Metadata[delayShareHeader]), i.abort(call.Metadata)
	if wait == 0 && code == pass || !i.faults.Begin(i.config.MaxActive) {
		return ctx, nil
	}
	defer i.faults.End()
	if wait > 0 {
		if err := pause(ctx, wait); err != nil {
			return ctx, err
		}
	}
	switch code {
	case pass:
		return ctx, nil
	case codes.OK:
		return ctx, httpfilter.ErrEnd
	default:
		return ctx, status.Error(code, "fault: the control plane has the call fail")
	}
}

// pass is not a status code. It means that the call is not aborted.
const pass codes.Code = 1 << 31

// abort returns the status to abort a call with, or pass.
func (i *injector) abort(md metadata.MD) codes.Code {
	a := i.config.Abort
	if a == nil {
		return pass
	}
	code, share := codes.Code(a.Code), a.PerMillion
	if a.FromHeaders {
		if code = codeOf(md); code == pass {
			return pass
		}
		share = faults.Lower(md[abortShareHeader], a.Unit, share)
	}
	if !i.faults.Chosen(share) {
		return pass
	}
	return code
}

// pause waits for the given time, or until the context is done.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}
