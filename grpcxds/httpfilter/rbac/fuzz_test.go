package rbac_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rbacpolicyv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/rbac"
)

// A dice generates rules and calls from few words, so that they often match.
type dice struct{ *rand.Rand }

func pick[T any](d dice, list ...T) T { return list[d.IntN(len(list))] }

func (d dice) word() string {
	return pick(d, "/a.A/x", "/a.A/y", "a", "A", "b", "a,b", "12", "spiffe://a/x", "dns.example", "CN=me", "AP8", "POST")
}

func (d dice) text() *matcherv3.StringMatcher {
	m := &matcherv3.StringMatcher{IgnoreCase: d.IntN(4) == 0}
	switch w := d.word(); d.IntN(6) {
	case 0:
		m.MatchPattern = &matcherv3.StringMatcher_Prefix{Prefix: w[:1+d.IntN(len(w))]}
	case 1:
		m.MatchPattern = &matcherv3.StringMatcher_Suffix{Suffix: w[d.IntN(len(w)):]}
	case 2:
		m.MatchPattern = &matcherv3.StringMatcher_Contains{Contains: w[d.IntN(len(w)):]}
	case 3:
		m.MatchPattern = &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: pick(d, "a|b", ".*", "", "/a.A/.", "[^a]+")}}
	case 4:
		m.MatchPattern = &matcherv3.StringMatcher_Exact{}
	default:
		m.MatchPattern = &matcherv3.StringMatcher_Exact{Exact: w}
	}
	return m
}

func (d dice) header() *routev3.HeaderMatcher {
	m := &routev3.HeaderMatcher{
		Name:        pick(d, "one", "two", "absent", ":path", ":method", ":authority", "Host", "x-bin", "te", "size"),
		InvertMatch: d.IntN(3) == 0, TreatMissingHeaderAsEmpty: d.IntN(3) == 0,
	}
	switch d.IntN(4) {
	case 0:
		m.HeaderMatchSpecifier = &routev3.HeaderMatcher_PresentMatch{PresentMatch: d.IntN(2) == 0}
	case 1:
		m.HeaderMatchSpecifier = &routev3.HeaderMatcher_RangeMatch{RangeMatch: &typev3.Int64Range{Start: 11, End: 12 + int64(d.IntN(2))}}
	default:
		m.HeaderMatchSpecifier = &routev3.HeaderMatcher_StringMatch{StringMatch: d.text()}
	}
	return m
}

func (d dice) ip() string { return pick(d, "10.0.0.1", "10.0.1.1", "192.168.0.1", "fe80::1", "::1") }

func (d dice) prefix() *corev3.CidrRange {
	return &corev3.CidrRange{AddressPrefix: d.ip(), PrefixLen: wrapperspb.UInt32(uint32(d.IntN(33)))}
}

func (d dice) permission(depth int) *rbacpolicyv3.Permission {
	set := func() *rbacpolicyv3.Permission_Set {
		s := new(rbacpolicyv3.Permission_Set)
		for range 1 + d.IntN(3) {
			s.Rules = append(s.Rules, d.permission(depth-1))
		}
		return s
	}
	m := new(rbacpolicyv3.Permission)
	switch k := d.IntN(11); {
	case k == 0 && depth > 0:
		m.Rule = &rbacpolicyv3.Permission_AndRules{AndRules: set()}
	case k == 1 && depth > 0:
		m.Rule = &rbacpolicyv3.Permission_OrRules{OrRules: set()}
	case k == 2 && depth > 0:
		m.Rule = &rbacpolicyv3.Permission_NotRule{NotRule: d.permission(depth - 1)}
	case k == 3:
		m.Rule = &rbacpolicyv3.Permission_UrlPath{UrlPath: &matcherv3.PathMatcher{Rule: &matcherv3.PathMatcher_Path{Path: d.text()}}}
	case k == 4:
		m.Rule = &rbacpolicyv3.Permission_DestinationIp{DestinationIp: d.prefix()}
	case k == 5:
		m.Rule = &rbacpolicyv3.Permission_DestinationPort{DestinationPort: uint32(80 + d.IntN(2))}
	case k == 6:
		m.Rule = &rbacpolicyv3.Permission_RequestedServerName{RequestedServerName: d.text()}
	case k == 7:
		m.Rule = &rbacpolicyv3.Permission_Metadata{Metadata: &matcherv3.MetadataMatcher{Filter: "f"}} //nolint:staticcheck // control planes still send it
	case k == 8:
		m.Rule = &rbacpolicyv3.Permission_Any{Any: true}
	default:
		m.Rule = &rbacpolicyv3.Permission_Header{Header: d.header()}
	}
	return m
}

func (d dice) principal(depth int) *rbacpolicyv3.Principal {
	set := func() *rbacpolicyv3.Principal_Set {
		s := new(rbacpolicyv3.Principal_Set)
		for range 1 + d.IntN(3) {
			s.Ids = append(s.Ids, d.principal(depth-1))
		}
		return s
	}
	m := new(rbacpolicyv3.Principal)
	switch k := d.IntN(12); {
	case k == 0 && depth > 0:
		m.Identifier = &rbacpolicyv3.Principal_AndIds{AndIds: set()}
	case k == 1 && depth > 0:
		m.Identifier = &rbacpolicyv3.Principal_OrIds{OrIds: set()}
	case k == 2 && depth > 0:
		m.Identifier = &rbacpolicyv3.Principal_NotId{NotId: d.principal(depth - 1)}
	case k == 3:
		m.Identifier = &rbacpolicyv3.Principal_SourceIp{SourceIp: d.prefix()} //nolint:staticcheck // the field of A41
	case k == 4:
		m.Identifier = &rbacpolicyv3.Principal_DirectRemoteIp{DirectRemoteIp: d.prefix()}
	case k == 5:
		m.Identifier = &rbacpolicyv3.Principal_RemoteIp{RemoteIp: d.prefix()}
	case k == 6:
		m.Identifier = &rbacpolicyv3.Principal_Header{Header: d.header()}
	case k == 7:
		m.Identifier = &rbacpolicyv3.Principal_UrlPath{UrlPath: &matcherv3.PathMatcher{Rule: &matcherv3.PathMatcher_Path{Path: d.text()}}}
	case k == 8:
		m.Identifier = &rbacpolicyv3.Principal_Any{Any: true}
	case k == 9:
		m.Identifier = &rbacpolicyv3.Principal_Authenticated_{Authenticated: new(rbacpolicyv3.Principal_Authenticated)}
	default:
		m.Identifier = &rbacpolicyv3.Principal_Authenticated_{Authenticated: &rbacpolicyv3.Principal_Authenticated{PrincipalName: d.text()}}
	}
	return m
}

func (d dice) rules() *rbacpolicyv3.RBAC {
	m := &rbacpolicyv3.RBAC{Action: pick(d, rbacpolicyv3.RBAC_ALLOW, rbacpolicyv3.RBAC_DENY), Policies: make(map[string]*rbacpolicyv3.Policy)}
	for i := range d.IntN(4) {
		m.Policies[fmt.Sprint(i)] = &rbacpolicyv3.Policy{
			Permissions: []*rbacpolicyv3.Permission{d.permission(3), d.permission(1)},
			Principals:  []*rbacpolicyv3.Principal{d.principal(3), d.principal(1)},
		}
	}
	return m
}

func (d dice) call() *httpfilter.ServerCall {
	call := &httpfilter.ServerCall{
		Method: pick(d, "/a.A/x", "/a.A/y", "/a.B/z"),
		Metadata: metadata.MD{
			":authority": {d.word()}, "te": {"trailers"}, "size": {pick(d, "10", "11", "12", "x")}, "x-bin": {"\x00\xff"},
		},
		Local:  &net.TCPAddr{IP: net.ParseIP(d.ip()), Port: 80 + d.IntN(3)},
		Remote: &net.TCPAddr{IP: net.ParseIP(d.ip())},
	}
	if d.IntN(2) == 0 {
		call.Metadata["one"] = []string{d.word()}
	}
	if d.IntN(2) == 0 {
		call.Metadata["two"] = []string{"a", "b"}
	}
	leaf := new(x509.Certificate)
	if d.IntN(2) == 0 {
		leaf.URIs = []*url.URL{uri("spiffe://a/x"), uri("spiffe://b/x")}
	}
	if d.IntN(2) == 0 {
		leaf.DNSNames = []string{"dns.example"}
	}
	if d.IntN(2) == 0 {
		leaf.Subject = pkix.Name{CommonName: "me"}
	}
	switch d.IntN(4) {
	case 0:
	case 1:
		call.AuthInfo = credentials.TLSInfo{}
	default:
		call.AuthInfo = credentials.TLSInfo{State: tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}}
	}
	return call
}

// FuzzRules compares the engine with a simple evaluation of the message. One input yields many
// rules.
func FuzzRules(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed, seed)
	}
	filter := rbac.Filter()
	f.Fuzz(func(t *testing.T, a, b uint64) {
		d := dice{rand.New(rand.NewPCG(a, b))}
		for range 20 {
			m := d.rules()
			i := interceptor(t, filter, m)
			for range 10 {
				call := d.call()
				if got, want := allowed(t, i, call), (naive{call}).allows(m); got != want {
					t.Fatalf("%s\n%+v\nallowed: %v; want %v", prototext.Format(m), call, got, want)
				}
			}
		}
	})
}
