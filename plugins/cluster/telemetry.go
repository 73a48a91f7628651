package cluster

import (
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// MetricPropagation selects the endpoint metrics (ORCA) that load reports include (A85).
type MetricPropagation struct {
	CPU         bool // cpu_utilization
	Memory      bool // mem_utilization
	Application bool // application_utilization
	AllNamed    bool // every key of named_metrics
	// Named are keys of named_metrics, sorted. It is nil with AllNamed.
	Named []string
}

// reportMetrics decodes the names of metrics. It ignores unknown ones (A85).
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

// HostStatuses is a set of the health statuses that gRPC supports.
type HostStatuses struct{ Unknown, Healthy, Draining bool }

// overrideHosts decodes a set of health statuses. It ignores other statuses. The default is
// the statuses in which endpoints get calls anyway (A55).
func overrideHosts(_ *resource.DecodeContext, m *corev3.HealthStatusSet) (HostStatuses, error) { //nolint:unparam // the type of a hook
	if m == nil {
		return HostStatuses{Unknown: true, Healthy: true}, nil
	}
	has := func(s corev3.HealthStatus) bool { return slices.Contains(m.GetStatuses(), s) }
	return HostStatuses{
		Unknown: has(corev3.HealthStatus_UNKNOWN), Healthy: has(corev3.HealthStatus_HEALTHY), Draining: has(corev3.HealthStatus_DRAINING),
	}, nil
}

// TelemetryLabel returns the label for call metrics from the cluster's metadata. The name
// is "service_name" or "service_namespace". It returns "" if there is no label.
func (u *Update) TelemetryLabel(name string) string {
	if u == nil {
		return ""
	}
	labels, _ := u.Metadata["com.google.csm.telemetry_labels"].Value.(map[string]any)
	label, _ := labels[name].(string)
	return label
}
