package httpxds_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestChainsByDestinationPort expects the filter chains for the port of a server to hide the others, as in Envoy, and those for
// another port to match no connection.
func TestChainsByDestinationPort(t *testing.T) {
	s := newSite(t, http.HandlerFunc(page), "", nil)
	of := func(name, match string, code int) string {
		text := chain(name, hosts(fmt.Sprintf(`routes { match { prefix: "/" } direct_response { status: %d } }`, code)))
		return strings.Replace(text, "filters {", "filter_chain_match { "+match+" } filters {", 1) + " "
	}
	open := of("open", `prefix_ranges { address_prefix: "127.0.0.0" prefix_len { value: 8 } }`, 200)
	other := of("other", `destination_port { value: 1 }`, 418)
	s.listen(open + other)
	s.serving("")
	if a := s.get("/"); a.code != 200 {
		t.Errorf("status %d; want 200 by the chain without a port", a.code)
	}
	s.listen(open + other + of("own", fmt.Sprintf(`destination_port { value: %d }`, s.port), 403))
	s.until("the chain of the port serves", func() bool { return s.get("/").code == 403 })
	s.listen(open + of("own", fmt.Sprintf(`destination_port { value: %d } source_prefix_ranges { address_prefix: "10.0.0.0" prefix_len { value: 8 } }`, s.port), 403) +
		strings.Replace(of("default", "", 401), "filter_chains", "default_filter_chain", 1))
	s.until("the default chain serves, because the chain of the port does not match", func() bool { return s.get("/").code == 401 })
}
