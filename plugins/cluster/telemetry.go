package cluster

import (
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// MetricPropagation is which metrics of endpoints (ORCA) go into load reports (A85).
type MetricPropagation struct {
	CPU         bool // cpu_utilization
	Memory      bool // mem_utilization
	Application bool // application_utilization
	AllNamed    bool // every key of named_metrics
	// Named are keys of named_metrics, sorted; nil where all are meant.
	Named []string
}

// reportMetrics reads the names of fields; those that are not known are passed over
// (A85).
func reportMetrics(_ *resource.DecodeContext, names []string) (MetricPropagation, error) { //nolint:unparam // the type of a hook
	var m MetricPropagation
	for _, n := range names {
		switch n {
		case "cpu_utilization":
			m.CPU = true
		case "mem_utilization":
			m.Memory = true
		case "application_utilization":
			m.Application = true
		case "named_metrics.*":
			m.AllNamed = true
		default:
			if key, ok := strings.CutPrefix(n, "named_metrics."); ok && key != "" {
				m.Named = append(m.Named, key)
			}
		}
	}
	slices.Sort(m.Named)
	m.Named = slices.Compact(m.Named)
	if m.AllNamed {
		m.Named = nil
	}
	return m, nil
}

// HostStatuses are kinds of health, of those that gRPC knows.
type HostStatuses struct{ Unknown, Healthy, Draining bool }

// overrideHosts reads a set of kinds of health. Others are passed over; unset, it is
// those in which endpoints get calls anyway (A55).
func overrideHosts(_ *resource.DecodeContext, m *corev3.HealthStatusSet) (HostStatuses, error) { //nolint:unparam // the type of a hook
	if m == nil {
		return HostStatuses{Unknown: true, Healthy: true}, nil
	}
	has := func(s corev3.HealthStatus) bool { return slices.Contains(m.GetStatuses(), s) }
	return HostStatuses{
		Unknown: has(corev3.HealthStatus_UNKNOWN), Healthy: has(corev3.HealthStatus_HEALTHY), Draining: has(corev3.HealthStatus_DRAINING),
	}, nil
}

// TelemetryLabel is the label that the cluster's metadata gives metrics of its
// calls: name is "service_name" or "service_namespace". Empty where there is none.
func (u *Update) TelemetryLabel(name string) string {
	if u == nil {
		return ""
	}
	labels, _ := u.Metadata["com.google.csm.telemetry_labels"].Value.(map[string]any)
	label, _ := labels[name].(string)
	return label
}
