package capture

import (
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/transport"
)

// Describe returns a message on one line: what it is for, its type, names, version, nonce and error.
func Describe(m Message) string {
	switch {
	case m.Kind == Opened:
		if m.Method == transport.MethodDeltaADS {
			return "stream opened, incremental"
		}
		return "stream opened, state of the world"
	case m.Kind == Closed && m.Error == "":
		return "stream closed"
	case m.Kind == Closed:
		return "stream closed: " + m.Error
	}
	var text string
	var err error
	switch {
	case m.Kind == Sent && m.Method == transport.MethodADS:
		text, err = parse(m.Bytes, describeRequest)
	case m.Kind == Sent:
		text, err = parse(m.Bytes, describeDeltaRequest)
	case m.Method == transport.MethodADS:
		text, err = parse(m.Bytes, describeResponse)
	default:
		text, err = parse(m.Bytes, describeDeltaResponse)
	}
	if err != nil {
		return fmt.Sprintf("%d bytes that cannot be read: %v", len(m.Bytes), err)
	}
	return text
}

// parse describes an encoded message.
func parse[M any, P interface {
	*M
	proto.Message
}](data []byte, describe func(P) string) (string, error) {
	m := P(new(M))
	if err := proto.Unmarshal(data, m); err != nil {
		return "", err
	}
	return describe(m), nil
}

func describeRequest(m *discoveryv3.DiscoveryRequest) string {
	text := answer(m.GetErrorDetail() != nil, m.GetResponseNonce()) + " " + short(m.GetTypeUrl())
	if m.GetVersionInfo() != "" {
		text += " version " + m.GetVersionInfo()
	}
	text += namesText("", m.GetResourceNames())
	return text + nodeText(m.GetNode()) + detail(m.GetErrorDetail().GetMessage())
}

func describeDeltaRequest(m *discoveryv3.DeltaDiscoveryRequest) string {
	text := answer(m.GetErrorDetail() != nil, m.GetResponseNonce()) + " " + short(m.GetTypeUrl())
	text += namesText("+", m.GetResourceNamesSubscribe()) + namesText("-", m.GetResourceNamesUnsubscribe())
	if n := len(m.GetInitialResourceVersions()); n > 0 {
		text += fmt.Sprintf(" with %d known", n)
	}
	return text + nodeText(m.GetNode()) + detail(m.GetErrorDetail().GetMessage())
}

func describeResponse(m *discoveryv3.DiscoveryResponse) string {
	return fmt.Sprintf("response %s version %s nonce %s: %d resources%s",
		short(m.GetTypeUrl()), m.GetVersionInfo(), m.GetNonce(), len(m.GetResources()), planeText(m.GetControlPlane()))
}

func describeDeltaResponse(m *discoveryv3.DeltaDiscoveryResponse) string {
	return fmt.Sprintf("response %s version %s nonce %s: %d resources, %d removed%s", short(m.GetTypeUrl()),
		m.GetSystemVersionInfo(), m.GetNonce(), len(m.GetResources()), len(m.GetRemovedResources()), planeText(m.GetControlPlane()))
}

// answer names the purpose of a request.
func answer(rejects bool, nonce string) string {
	switch {
	case rejects:
		return "NACK of nonce " + nonce
	case nonce != "":
		return "ACK of nonce " + nonce
	}
	return "request"
}

func detail(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// maxNames is the limit of names in a description.
const maxNames = 10

func namesText(sign string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > maxNames {
		more = fmt.Sprintf(" and %d more", len(names)-maxNames)
		names = names[:maxNames]
	}
	return fmt.Sprintf(" %s%q%s", sign, names, more)
}

func nodeText(n *corev3.Node) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf(" of node %q", n.GetId())
}

func planeText(c *corev3.ControlPlane) string {
	if c.GetIdentifier() == "" {
		return ""
	}
	return fmt.Sprintf(", of control plane %q", c.GetIdentifier())
}

// short returns the last part of a type URL.
func short(url string) string {
	return url[strings.LastIndexAny(url, "./")+1:]
}
