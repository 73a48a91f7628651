package httpxds

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	orcav3 "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// The headers of an endpoint's load report (ORCA), and the limit of their length.
const (
	loadHeader       = "Endpoint-Load-Metrics"
	loadHeaderBinary = "Endpoint-Load-Metrics-Bin"
	maxLoadReport    = 16 << 10
)

// loadOf returns the load report in the headers of a response, for LB policies and load reports. It returns nil if there is
// none, or if it is invalid.
func loadOf(h http.Header) any {
	var m *orcav3.OrcaLoadReport
	if values := h[loadHeaderBinary]; len(values) > 0 {
		m = binaryLoad(values[0])
	} else if values := h[loadHeader]; len(values) > 0 && len(values[0]) <= maxLoadReport {
		switch format, text, _ := strings.Cut(values[0], " "); format {
		case "BIN":
			m = binaryLoad(text)
		case "JSON":
			m = new(orcav3.OrcaLoadReport)
			if protojson.Unmarshal([]byte(text), m) != nil {
				m = nil
			}
		case "TEXT":
			m = textLoad(text)
		}
	}
	if m == nil {
		return nil
	}
	return m
}

func binaryLoad(text string) *orcav3.OrcaLoadReport {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	m := new(orcav3.OrcaLoadReport)
	if err != nil || len(b) > maxLoadReport || proto.Unmarshal(b, m) != nil {
		return nil
	}
	return m
}

// textLoad parses pairs such as "cpu_utilization=0.3,named_metrics.queue=7".
func textLoad(text string) *orcav3.OrcaLoadReport {
	m := &orcav3.OrcaLoadReport{NamedMetrics: make(map[string]float64), Utilization: make(map[string]float64), RequestCost: make(map[string]float64)}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		f, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil {
			return nil
		}
		kind, key, _ := strings.Cut(name, ".")
		switch kind {
		case "cpu_utilization":
			m.CpuUtilization = f
		case "mem_utilization":
			m.MemUtilization = f
		case "application_utilization":
			m.ApplicationUtilization = f
		case "rps_fractional":
			m.RpsFractional = f
		case "eps":
			m.Eps = f
		case "named_metrics":
			m.NamedMetrics[key] = f
		case "utilization":
			m.Utilization[key] = f
		case "request_cost":
			m.RequestCost[key] = f
		}
	}
	return m
}
