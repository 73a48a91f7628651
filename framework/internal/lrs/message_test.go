package lrs_test

import (
	"maps"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/internal/lrs"
	"github.com/xdsforge/xdsforge/framework/load"
)

func TestRequestsAreWhatTheMessageSays(t *testing.T) {
	node := &corev3.Node{Id: "n"}
	want := &lrsv3.LoadStatsRequest{Node: node, ClusterStats: []*endpointv3.ClusterStats{
		{ClusterName: "a", TotalDroppedRequests: 3}, {ClusterName: "b", LoadReportInterval: durationpb.New(time.Second)},
	}}
	raw, err := proto.Marshal(node)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := lrs.EncodeRequest(raw, want.GetClusterStats())
	if err != nil {
		t.Fatal(err)
	}
	got := new(lrsv3.LoadStatsRequest)
	if err := proto.Unmarshal(msg, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if _, err := lrs.EncodeRequest(nil, []*endpointv3.ClusterStats{{ClusterName: "\xff"}}); err == nil {
		t.Error("a name that is not UTF-8 was encoded")
	}
}

func TestResponses(t *testing.T) {
	for name, tc := range map[string]struct {
		msg  *lrsv3.LoadStatsResponse
		want lrs.Instructions
	}{
		"nothing": {&lrsv3.LoadStatsResponse{}, lrs.Instructions{}},
		"clusters": {
			&lrsv3.LoadStatsResponse{Clusters: []string{"a", "b", "a"}, LoadReportingInterval: durationpb.New(1500 * time.Millisecond), ReportEndpointGranularity: true},
			lrs.Instructions{ClusterFilter: load.ClusterFilter{Clusters: set("a", "b")}, Interval: 1500 * time.Millisecond},
		},
		"all": {
			&lrsv3.LoadStatsResponse{SendAllClusters: true, LoadReportingInterval: durationpb.New(time.Hour)},
			lrs.Instructions{ClusterFilter: load.ClusterFilter{All: true}, Interval: time.Hour},
		},
		"no duration": {&lrsv3.LoadStatsResponse{LoadReportingInterval: &durationpb.Duration{Seconds: 1, Nanos: -1}}, lrs.Instructions{}},
	} {
		t.Run(name, func(t *testing.T) {
			msg, err := proto.Marshal(tc.msg)
			if err != nil {
				t.Fatal(err)
			}
			got, err := lrs.ParseResponse(msg)
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("error %v\n%s", err, diff)
			}
		})
	}
}

// FuzzParseResponse holds the reading by hand to that of the protobuf library.
func FuzzParseResponse(f *testing.F) {
	msg, err := proto.Marshal(&lrsv3.LoadStatsResponse{Clusters: []string{"a"}, LoadReportingInterval: durationpb.New(time.Second)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(msg)
	f.Add(append(msg, 0x20, 1))
	f.Add([]byte{0x12, 1, 0xff})
	f.Fuzz(func(t *testing.T, msg []byte) {
		in, err := lrs.ParseResponse(msg)
		want := new(lrsv3.LoadStatsResponse)
		if proto.Unmarshal(msg, want) != nil {
			return // the parser may accept invalid UTF-8, or a wrong type, in a field that it does not read
		}
		if err != nil {
			t.Fatalf("rejected: %v", err)
		}
		if in.All != want.GetSendAllClusters() || !maps.Equal(in.Clusters, set(want.GetClusters()...)) {
			t.Errorf("= %+v; must be %v", in, want)
		}
	})
}
