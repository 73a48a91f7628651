package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

func TestTheStoryIsSeenToItsEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var out bytes.Buffer
	if err := run(ctx, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{
		"envoy.config.endpoint.v3.ClusterLoadAssignment shop-endpoints  version ",
		"envoy.config.cluster.v3.Cluster west  version ",
		"  shop is east west\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
	if strings.Count(out.String(), "Listener web") != 2 {
		t.Errorf("there must be two snapshots:\n%s", &out)
	}
}
