// Package telemetry exports the state of an environment's xDS clients as OpenTelemetry metrics (gRFC
// A78). The client keeps the counts, and a [Reader] reads them when a scrape asks for them.
// docs/metrics.md lists the instruments.
package telemetry

// Name is the name of the instrumentation scope.
const Name = "github.com/xdsforge/xdsforge"
