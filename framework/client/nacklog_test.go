package client_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
)

// TestRejectionsThatWaitAreLoggedAtTheEnd expects the client to write the gathered log line when
// it closes. The line names a limited number of resources.
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
		pass(0)
		for _, r := range list[1:] {
			k.watch(r.GetName())
		}
		// A cache answers each NACK at once, and ignores a request whose nonce is stale by then. The
		// request with all names may have to wait for the next NACK, which has a pause of up to 3.2 s.
		pass(5 * time.Second)
		if n := rejectionLines(k.log); n != 1 {
			t.Errorf("the client wrote %d log lines about rejections in 5 s, want 1", n)
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		_, line, _ := strings.Cut(k.log.String(), "more responses rejected")
		_, names, _ := strings.Cut(line, "resources=")
		names, _, _ = strings.Cut(names, " nonce=")
		if n := strings.Count(names, "more"); n < 60 || n > 64 || !strings.Contains(names, "and others") {
			t.Errorf("the last log line names %d resources, want 60 to 64 and others: %s", n, names)
		}
	})
}
