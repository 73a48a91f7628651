package listener

import (
	"net/netip"
	"reflect"
	"strings"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/hostport"
)

// HTTPSettings are the settings of an HTTP server that profile HTTP reads from a manager: who the client is, and which host a
// request names. The zero value has Envoy's defaults.
type HTTPSettings struct {
	// UseRemoteAddress makes the peer of the connection the client, and appends its address to X-Forwarded-For. Otherwise the
	// last address of X-Forwarded-For is that of the client.
	UseRemoteAddress bool
	// TrustedHops is the number of addresses at the end of X-Forwarded-For that trusted proxies have appended.
	TrustedHops uint32
	// SkipAppend leaves X-Forwarded-For as it is.
	SkipAppend bool
	// Internal are the addresses of internal clients. A client is internal only if it is the only one in X-Forwarded-For.
	Internal []netip.Prefix
	// ClientCert says what happens to the header X-Forwarded-Client-Cert.
	ClientCert ClientCertMode
	// Details are the parts of a client certificate that the header has besides By and Hash.
	Details ClientCertDetails
	// StripOwnPort removes the port of the Listener from the host of a request, and StripAnyPort removes every port.
	StripOwnPort, StripAnyPort bool
	// StripDot removes the dot at the end of the host.
	StripDot bool
}

// Host returns the host of a request without the dot and the port that the settings remove. The port of the Listener is own. The
// settings may be nil.
func (s *HTTPSettings) Host(host, own string) string {
	if s == nil || !s.StripDot && !s.StripAnyPort && !s.StripOwnPort {
		return host
	}
	name, port, has := hostport.Cut(host)
	if s.StripDot {
		name = strings.TrimSuffix(name, ".")
	}
	if !has || s.StripAnyPort || s.StripOwnPort && port == own {
		return name
	}
	return name + ":" + port
}

// A ClientCertMode says what happens to the header X-Forwarded-Client-Cert of a request.
type ClientCertMode uint8

// The modes.
const (
	ClientCertSanitize      ClientCertMode = iota // it is removed
	ClientCertForward                             // it is kept, if the client has a certificate
	ClientCertAppend                              // the client's certificate is appended
	ClientCertSet                                 // the client's certificate replaces it
	ClientCertAlwaysForward                       // it is kept
)

// ClientCertDetails are the parts of a client certificate in X-Forwarded-Client-Cert.
type ClientCertDetails struct{ Cert, Chain, Subject, URI, DNS, Issuer bool }

// Equal reports whether both have the same effects.
func (s *HTTPSettings) Equal(o *HTTPSettings) bool {
	return reflect.DeepEqual(s, o)
}

// maxInternal is the limit of the ranges of internal addresses.
const maxInternal = 1000

// httpSettings reads the settings of profile HTTP. They are nil in other profiles.
func httpSettings(
	dc *resource.DecodeContext, remote bool, hops uint32, skip bool, internal *hcmv3.HttpConnectionManager_InternalAddressConfig,
	cert hcmv3.HttpConnectionManager_ForwardClientCertDetails, details *hcmv3.HttpConnectionManager_SetCurrentClientCertDetails,
	own, every, dot bool,
) (*HTTPSettings, error) {
	if dc.Types.Profile() != resource.HTTP {
		return nil, nil //nolint:nilnil // others do not read them
	}
	var v resource.Violations
	s := &HTTPSettings{
		UseRemoteAddress: remote, TrustedHops: hops, SkipAppend: skip, StripOwnPort: own, StripAnyPort: every, StripDot: dot,
		Internal: internalRanges(internal, &v), ClientCert: certMode(cert, &v), Details: certDetails(details, &v),
	}
	if own && every {
		v.Add((*resource.Path)(nil).Field("strip_any_host_port"), true, "must not be set beside strip_matching_host_port")
	}
	return s, v.Err()
}

func internalRanges(m *hcmv3.HttpConnectionManager_InternalAddressConfig, v *resource.Violations) []netip.Prefix {
	at := (*resource.Path)(nil).Field("internal_address_config")
	if n := len(m.GetCidrRanges()); n > maxInternal {
		v.Add(at.Field("cidr_ranges"), n, "must have at most 1000 ranges")
		return nil
	}
	var out []netip.Prefix
	for i, r := range m.GetCidrRanges() {
		p, err := matcher.NewPrefix(r)
		if err != nil {
			v.AddError(at.Item("cidr_ranges", i), err)
			continue
		}
		out = append(out, p)
	}
	return out
}

func certMode(m hcmv3.HttpConnectionManager_ForwardClientCertDetails, v *resource.Violations) ClientCertMode {
	switch m {
	case hcmv3.HttpConnectionManager_SANITIZE:
		return ClientCertSanitize
	case hcmv3.HttpConnectionManager_FORWARD_ONLY:
		return ClientCertForward
	case hcmv3.HttpConnectionManager_APPEND_FORWARD:
		return ClientCertAppend
	case hcmv3.HttpConnectionManager_SANITIZE_SET:
		return ClientCertSet
	case hcmv3.HttpConnectionManager_ALWAYS_FORWARD_ONLY:
		return ClientCertAlwaysForward
	}
	v.Add((*resource.Path)(nil).Field("forward_client_cert_details"), m, "must be one of SANITIZE, FORWARD_ONLY, APPEND_FORWARD, SANITIZE_SET, ALWAYS_FORWARD_ONLY")
	return ClientCertSanitize
}

func certDetails(m *hcmv3.HttpConnectionManager_SetCurrentClientCertDetails, v *resource.Violations) ClientCertDetails {
	if f := m.GetFormat(); f != hcmv3.HttpConnectionManager_TEXT {
		at := (*resource.Path)(nil).Field("set_current_client_cert_details")
		v.Add(at.Field("format"), f, "must be TEXT")
	}
	return ClientCertDetails{
		Cert: m.GetCert(), Chain: m.GetChain(), Subject: m.GetSubject().GetValue(), URI: m.GetUri(), DNS: m.GetDns(), Issuer: m.GetIssuer(),
	}
}
