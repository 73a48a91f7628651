package client_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
)

// A line about rejections that waits is written when the client closes. It names a limited
// number of resources.
func TestRejectionsThatWaitAreLoggedAtTheEnd(t *testing.T) {
	const more = 100
	atCaches(t, func(t *testing.T, k *cacheTest) {
		list := []*clusterv3.Cluster{badCluster("first")}
		for i := range more {
			list = append(list, badCluster(fmt.Sprintf("more%02d", i)))
		}
		if k.cache == "ads snapshot" { // it answers requests for all that it has, and no others
			return
		}
		k.set(1, list...)
		k.watch("first")
		pass(time.Second)
		for _, r := range list[1:] {
			k.watch(r.GetName())
		}
		pass(time.Second)
		if n := rejectionLines(k.log); n != 1 {
			t.Errorf("%d log lines about rejections in 2 s; want 1", n)
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		_, line, _ := strings.Cut(k.log.String(), "more responses rejected")
		_, names, _ := strings.Cut(line, "resources=")
		names, _, _ = strings.Cut(names, " nonce=")
		if n := strings.Count(names, "more"); n < 60 || n > 64 || !strings.Contains(names, "and others") {
			t.Errorf("the last line names %d resources, want 60 to 64 and others: %s", n, names)
		}
	})
}
