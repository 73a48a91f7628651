package httpxds

import (
	"net/http"
	"testing"
)

// TestPitfall9 expects routes to read headers of requests without an allocation.
func TestPitfall9(t *testing.T) {
	r := &http.Request{Header: http.Header{"X-User": {"1"}}}
	m := maker{table: &table{canonical: make(map[string]string)}}
	m.read("x-user")
	v := &view{table: m.table, request: r}
	if n := testing.AllocsPerRun(100, func() { _ = v.Values("x-user") }); n > 0 {
		t.Errorf("%v allocations for a header, want none", n)
	}
	if got := v.Values("x-user"); len(got) != 1 || got[0] != "1" {
		t.Errorf("the header has the values %q", got)
	}
}

// TestLoadOf expects each form of a load report, and none of an invalid one.
func TestLoadOf(t *testing.T) {
	for name, value := range map[string]string{
		"Endpoint-Load-Metrics":     `JSON {"cpu_utilization":0.5}`,
		"endpoint-load-metrics":     "TEXT cpu_utilization=0.5,named_metrics.a=1",
		"Endpoint-Load-metrics":     "BIN CQAAAAAAAOA/",
		"Endpoint-Load-Metrics-Bin": "CQAAAAAAAOA/",
	} {
		h := make(http.Header)
		h.Set(name, value)
		m, ok := loadOf(h).(interface{ GetCpuUtilization() float64 })
		if !ok || m.GetCpuUtilization() != 0.5 {
			t.Errorf("%s: %s is read as %v, want a CPU utilization of 0.5", name, value, m)
		}
	}
	for _, value := range []string{"", "JSON {", "TEXT cpu_utilization", "BIN !", "XML <a/>"} {
		if got := loadOf(http.Header{loadHeader: {value}}); got != nil {
			t.Errorf("%q is read as %v, want nothing", value, got)
		}
	}
}
