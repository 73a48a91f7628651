package memoryads

import (
	"fmt"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// Trace makes the server report each message in one line: when it reads a request, and when
// the client receives a response.
func (s *Server) Trace(tell func(line string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = tell
}

func (st *stream) tell(m proto.Message) {
	if st.server.trace != nil {
		st.server.trace(fmt.Sprintf("stream %d: %s", st.number, line(m)))
	}
}

// line is a message in short: a request with its nonce and names, or a response with its
// nonce and bodies.
func line(m proto.Message) string {
	switch m := m.(type) {
	case *discoveryv3.DiscoveryRequest:
		return fmt.Sprintf("<- %s nonce %q version %q names %q%s", m.GetTypeUrl(), m.GetResponseNonce(), m.GetVersionInfo(), m.GetResourceNames(), rejection(m.GetErrorDetail() != nil))
	case *discoveryv3.DeltaDiscoveryRequest:
		return fmt.Sprintf("<- %s nonce %q subscribe %q unsubscribe %q has %v%s", m.GetTypeUrl(), m.GetResponseNonce(),
			m.GetResourceNamesSubscribe(), m.GetResourceNamesUnsubscribe(), m.GetInitialResourceVersions(), rejection(m.GetErrorDetail() != nil))
	case *discoveryv3.DiscoveryResponse:
		var bodies []string
		for _, r := range m.GetResources() {
			bodies = append(bodies, string(r.GetValue()))
		}
		return fmt.Sprintf("-> %s nonce %q version %q bodies %q errors %v", m.GetTypeUrl(), m.GetNonce(), m.GetVersionInfo(), bodies, m.GetResourceErrors())
	case *discoveryv3.DeltaDiscoveryResponse:
		var bodies []string
		for _, r := range m.GetResources() {
			bodies = append(bodies, r.GetName()+"="+string(r.GetResource().GetValue()))
		}
		return fmt.Sprintf("-> %s nonce %q bodies %q removed %q errors %v", m.GetTypeUrl(), m.GetNonce(), bodies, m.GetRemovedResources(), m.GetResourceErrors())
	}
	return fmt.Sprint(m)
}

func rejection(rejects bool) string {
	if rejects {
		return " NACK"
	}
	return ""
}
