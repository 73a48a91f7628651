package outlier_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/internal/dataplane/outlier"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// results are outcomes of requests by name.
func results() map[string]error {
	return map[string]error{
		"200": nil, "404": &outlier.FailureError{Status: 404}, "500": &outlier.FailureError{Status: 500}, "502": &outlier.FailureError{Status: 502}, "503": &outlier.FailureError{Status: 503},
		"504": &outlier.FailureError{Status: 504}, "505": &outlier.FailureError{Status: 505},
		"timeout": &outlier.FailureError{Status: 504, Local: true}, "refused": errors.New("refused"), "canceled": &outlier.FailureError{Status: 503, Ignored: true},
	}
}

// Consecutive failures of a kind reach their number if no other outcome is between them.
func TestConsecutiveFailures(t *testing.T) {
	plain := cluster.HTTPOutlier{FiveXX: 3, FiveXXChance: 100, Gateway: 2, GatewayChance: 100, Local: 2, LocalChance: 100}
	split := plain
	split.Split = true
	for _, tt := range []struct {
		config  cluster.HTTPOutlier
		results []string
		want    outlier.Kind
	}{
		{plain, []string{"500", "500", "500"}, outlier.FiveXX},
		{plain, []string{"500", "200", "500", "500"}, 0},
		{plain, []string{"500", "404", "500", "500"}, 0},
		{plain, []string{"500", "500", "canceled"}, 0},
		{plain, []string{"500", "canceled", "500", "500"}, outlier.FiveXX},
		{plain, []string{"503", "503"}, outlier.Gateway},
		{plain, []string{"502", "504"}, outlier.Gateway},
		{plain, []string{"505", "505"}, 0},
		{plain, []string{"503", "500", "503"}, outlier.FiveXX},
		{plain, []string{"timeout", "refused"}, outlier.Gateway},
		{plain, []string{"500", "timeout", "refused"}, outlier.Gateway | outlier.FiveXX},
		{plain, []string{"500", "500", "500", "500"}, 0}, // another series begins
		{split, []string{"timeout", "refused"}, outlier.Local},
		{split, []string{"timeout", "200", "refused"}, 0},
		{split, []string{"timeout", "503", "refused"}, 0},
		{split, []string{"503", "timeout", "503"}, outlier.Gateway},
		{split, []string{"500", "500", "500"}, outlier.FiveXX},
	} {
		var m outlier.Machine
		m.ConfigureHTTP(&cluster.OutlierDetection{Interval: time.Hour}, tt.config, []string{"a"}, epoch)
		var got outlier.Kind
		for _, r := range tt.results {
			got = m.Endpoint("a").RecordHTTP(results()[r])
		}
		if got != tt.want {
			t.Errorf("%v of %+v: the last result reaches %b; want %b", tt.results, tt.config, got, tt.want)
		}
	}
}

// TestNothingToEject expects a machine to keep no endpoints if no kind can eject one.
func TestNothingToEject(t *testing.T) {
	for _, tt := range []struct {
		http cluster.HTTPOutlier
		keep bool
	}{
		{cluster.HTTPOutlier{Split: true}, false},
		{cluster.HTTPOutlier{LocalChance: 1, LocalSuccessRate: 1, LocalFailurePercentage: 1}, false},
		{cluster.HTTPOutlier{FiveXXChance: 1}, true},
		{cluster.HTTPOutlier{GatewayChance: 1}, true},
		{cluster.HTTPOutlier{Split: true, LocalChance: 1}, true},
		{cluster.HTTPOutlier{Split: true, LocalSuccessRate: 1}, true},
		{cluster.HTTPOutlier{Split: true, LocalFailurePercentage: 1}, true},
	} {
		var m outlier.Machine
		m.ConfigureHTTP(&cluster.OutlierDetection{Interval: time.Hour}, tt.http, []string{"a"}, epoch)
		if kept := m.Endpoint("a") != nil; kept != tt.keep {
			t.Errorf("%+v: the machine keeps its endpoint: %t; want %t", tt.http, kept, tt.keep)
		}
	}
}

// Each kind ejects by its own chance, and not above the limit of ejected endpoints. The ejection ends after its time.
func TestConsecutiveEjection(t *testing.T) {
	config := cluster.OutlierDetection{Interval: time.Second, BaseEjectionTime: 30 * time.Second, MaxEjectionTime: 300 * time.Second, MaxEjectionPercent: 50}
	http := cluster.HTTPOutlier{FiveXX: 5, FiveXXChance: 10, Gateway: 5, GatewayChance: 20, Local: 5, LocalChance: 30, Split: true}
	for _, tt := range []struct {
		kind   outlier.Kind
		chance uint32
		want   string // the method, and the reason not to eject
	}{
		{outlier.FiveXX, 9, "consecutive_5xx "},
		{outlier.FiveXX, 10, "consecutive_5xx enforcement_percentage"},
		{outlier.Gateway, 19, "consecutive_gateway_failure "},
		{outlier.Gateway, 20, "consecutive_gateway_failure enforcement_percentage"},
		{outlier.Local, 29, "consecutive_local_origin_failure "},
		{outlier.Local, 30, "consecutive_local_origin_failure enforcement_percentage"},
		{outlier.Local | outlier.FiveXX, 0, "consecutive_local_origin_failure "}, // once
	} {
		m := outlier.New(func() uint32 { return tt.chance })
		var got []string
		m.Detected = func(method, unenforced string) { got = append(got, method+" "+unenforced) }
		m.ConfigureHTTP(&config, http, []string{"a", "b"}, epoch)
		ejected := m.Consecutive(m.Endpoint("a"), tt.kind, epoch)
		if !slices.Equal(got, []string{tt.want}) || ejected != (tt.want[len(tt.want)-1] == ' ') {
			t.Errorf("kind %b at chance %d: %q, ejected %t; want %q", tt.kind, tt.chance, got, ejected, tt.want)
		}
	}
	m := outlier.New(func() uint32 { return 0 })
	m.ConfigureHTTP(&config, http, []string{"a", "b"}, epoch)
	first, second := m.Consecutive(m.Endpoint("a"), outlier.FiveXX, epoch), m.Consecutive(m.Endpoint("b"), outlier.FiveXX, epoch)
	if !first || second {
		t.Errorf("two endpoints with a limit of one: ejected %t, %t; want only the first", first, second)
	}
	if _, out := m.EndInterval(epoch.Add(30 * time.Second)); len(out) != 0 {
		t.Error("the ejection ends before its time has passed")
	}
	if _, out := m.EndInterval(epoch.Add(32 * time.Second)); len(out) != 1 || m.Endpoint("a").Ejected() {
		t.Error("the ejection does not end after its time")
	}
	m.Configure(nil, nil, epoch)
	if m.Consecutive(new(outlier.Endpoint), outlier.FiveXX, epoch) {
		t.Error("a machine without a configuration ejects an endpoint")
	}
}

// With split origins, the success rate and the failure percentage consider requests without a response separately.
func TestSplitOrigins(t *testing.T) {
	config := cluster.OutlierDetection{
		Interval: time.Second, BaseEjectionTime: 30 * time.Second, MaxEjectionTime: 300 * time.Second, MaxEjectionPercent: 100,
		SuccessRate:       cluster.SuccessRate{StdevFactor: 1000, MinimumHosts: 3, RequestVolume: 10},
		FailurePercentage: cluster.FailurePercentage{Threshold: 50, MinimumHosts: 3, RequestVolume: 10},
	}
	for name, tt := range map[string]struct {
		http   cluster.HTTPOutlier
		result string // of endpoint a
		want   []string
	}{
		"success rate of timeouts":           {cluster.HTTPOutlier{Split: true, LocalSuccessRate: 100}, "timeout", []string{"success_rate_local_origin "}},
		"failure percentage of timeouts":     {cluster.HTTPOutlier{Split: true, LocalFailurePercentage: 100}, "timeout", []string{"failure_percentage_local_origin "}},
		"responses":                          {cluster.HTTPOutlier{Split: true, LocalSuccessRate: 100, LocalFailurePercentage: 100}, "500", nil},
		"timeouts without split origins":     {cluster.HTTPOutlier{LocalSuccessRate: 100, LocalFailurePercentage: 100, FiveXX: 99, FiveXXChance: 1}, "timeout", nil},
		"canceled requests":                  {cluster.HTTPOutlier{Split: true, LocalSuccessRate: 100, LocalFailurePercentage: 100}, "canceled", nil},
		"consecutive failures are not ended": {cluster.HTTPOutlier{Split: true, Local: 50, LocalChance: 100}, "timeout", nil},
	} {
		m := outlier.New(func() uint32 { return 0 })
		var got []string
		m.Detected = func(method, unenforced string) { got = append(got, method+" "+unenforced) }
		m.ConfigureHTTP(&config, tt.http, []string{"a", "b", "c"}, epoch)
		for range 20 {
			m.Endpoint("a").RecordHTTP(results()[tt.result])
			m.Endpoint("b").RecordHTTP(nil)
			m.Endpoint("c").RecordHTTP(nil)
		}
		ejected, _ := m.EndInterval(epoch.Add(time.Second))
		if !slices.Equal(got, tt.want) || len(ejected) != len(tt.want) {
			t.Errorf("%s: detected %q and ejected %d; want %q", name, got, len(ejected), tt.want)
		}
	}
}

// Without split origins, a request without a response counts as a failed one for the algorithms of gRFC A50.
func TestFailuresOfHTTPCount(t *testing.T) {
	config := cluster.OutlierDetection{
		Interval: time.Second, BaseEjectionTime: 30 * time.Second, MaxEjectionTime: 300 * time.Second, MaxEjectionPercent: 100,
		FailurePercentage: cluster.FailurePercentage{Enforcement: 100, Threshold: 50, MinimumHosts: 1, RequestVolume: 1},
	}
	for result, want := range map[string]bool{"200": false, "404": false, "500": true, "timeout": true, "refused": true, "canceled": false} {
		for _, split := range []bool{false, true} {
			m := outlier.New(func() uint32 { return 0 })
			m.ConfigureHTTP(&config, cluster.HTTPOutlier{Split: split}, []string{"a"}, epoch)
			m.Endpoint("a").RecordHTTP(results()[result])
			ejected, _ := m.EndInterval(epoch.Add(time.Second))
			want := want && (!split || result == "500")
			if (len(ejected) == 1) != want {
				t.Errorf("%s: ejected %t; want %t", fmt.Sprint(result, " split ", split), len(ejected) == 1, want)
			}
		}
	}
}
