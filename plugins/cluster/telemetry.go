package cluster

import (
	"slices"
	"strings"

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

// TelemetryLabel is the label that the cluster's metadata gives metrics of its
// calls: name is "service_name" or "service_namespace". Empty where there is none.
func (u *Update) TelemetryLabel(name string) string {
	labels, _ := u.Metadata["com.google.csm.telemetry_labels"].Value.(map[string]any)
	label, _ := labels[name].(string)
	return label
}
