package routing

import (
	"context"
	"reflect"

	"go.opentelemetry.io/otel/trace"
)

// delayed is the event of gRFC A72 on the span of a call that has waited for its configuration. grpc-go's
// plugin cannot add it: the wait is over before grpc-go sees the call.
const delayed = "Delayed name resolution complete"

// addDelay adds the event to the span of a call, which the plugin has started before.
func addDelay(ctx context.Context) { trace.SpanFromContext(ctx).AddEvent(delayed) }

// plugin is the package of grpc-go's OpenTelemetry plugin.
const plugin = "google.golang.org/grpc/stats/opentelemetry"

// An orderCheck is the context of a channel's first call. It reports an OpenTelemetry plugin whose interceptors
// come after those of this package. Such a plugin sees each attempt of a call as a call.
//
// Each interceptor of the plugin looks for its record of the call, and adds one if there is none. In the right
// order, the record is outside of this context.
type orderCheck struct {
	context.Context //nolint:containedctx // it is a context
	wrong           func()
}

// Value implements [context.Context].
func (c orderCheck) Value(key any) any {
	v := c.Context.Value(key)
	if t := reflect.TypeOf(key); t != nil && t.PkgPath() == plugin && t.Name() == "callInfoKey" && v == nil {
		c.wrong()
	}
	return v
}

// checkOrder returns the context for the first call, and ctx for all others.
func (c *Interceptors) checkOrder(ctx context.Context) context.Context {
	if c.checked.Load() || c.checked.Swap(true) {
		return ctx
	}
	return orderCheck{ctx, func() {
		if f := c.misplaced.Load(); f != nil {
			(*f)()
		}
	}}
}

// Misplaced sets the function that reports an OpenTelemetry plugin after the interceptors.
func (c *Interceptors) Misplaced(f func()) { c.misplaced.Store(&f) }
