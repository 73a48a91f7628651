package cel

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/expr"
	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	xdstypev3 "github.com/cncf/xds/go/xds/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
)

// checked returns the expression as a control plane checks it. Its environment has the variables as maps of any values, or by
// their qualified names, and all functions and macros.
func checked(t testing.TB, text string, qualified bool) *expr.CheckedExpr {
	t.Helper()
	options := []cel.EnvOption{cel.OptionalTypes()}
	if qualified {
		for _, name := range []string{"path", "url_path", "host", "method", "referer", "useragent", "id", "query", "scheme", "protocol"} {
			options = append(options, cel.Variable("request."+name, cel.StringType))
		}
		options = append(options, cel.Variable("request.headers", cel.MapType(cel.StringType, cel.StringType)))
	}
	for _, name := range []string{"request", "source", "connection", "xds", "response"} {
		options = append(options, cel.Variable(name, cel.MapType(cel.StringType, cel.DynType)))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		t.Fatal(err)
	}
	a, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	m, err := cel.AstToCheckedExpr(a)
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	out := new(expr.CheckedExpr)
	if err := proto.Unmarshal(b, out); err != nil { // the messages have the same fields
		t.Fatal(err)
	}
	return out
}

// A registrar keeps what is registered.
type registrar struct {
	resource.Registrar
	kept *resource.InputMatcher
}

func (r *registrar) Extend(e resource.Extension) { r.kept = e.(*resource.InputMatcher) }

// parse decodes a matcher in the way a client does.
func parse(t testing.TB, m *xdstypev3.CelExpression) (matchtree.Custom, error) {
	t.Helper()
	r := new(registrar)
	Register(r)
	a, err := anypb.New(&matcherv3.CelMatcher{ExprMatch: m, Description: "any text"})
	if err != nil {
		t.Fatal(err)
	}
	dc := new(resource.DecodeContext)
	c, err := dc.OpenTypedConfig(a)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.kept.Parse(dc, c)
	if err != nil {
		return nil, err
	}
	return got.(matchtree.Custom), nil
}

// properties are the attributes of a call.
type properties struct {
	remote   net.Addr
	state    *tls.ConnectionState
	metadata map[string]map[string]any
}

func (p *properties) Peer() (net.Addr, *tls.ConnectionState) { return p.remote, p.state }

func (p *properties) ClusterMetadata(key string) (map[string]any, bool) {
	m, ok := p.metadata[key]
	return m, ok
}

// newCall returns a call with many attributes.
func newCall() *matchtree.Call {
	return &matchtree.Call{
		Method: "/shop.Stock/Get",
		Metadata: map[string][]string{
			":authority": {"shop.example"}, "x-a": {"1", "2"}, "user-agent": {"grpc-go"}, "referer": {"r"}, "x-request-id": {"id"}, "x-bin": {"a"}, "te": {"trailers"}, "x-re": {"^/shop"},
		},
		Attributes: &properties{
			remote:   &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80},
			state:    &tls.ConnectionState{Version: tls.VersionTLS13, ServerName: "sni", PeerCertificates: []*x509.Certificate{{Raw: []byte("abc")}}},
			metadata: map[string]map[string]any{"team": {"name": "a", "size": 3.0, "half": 0.5, "list": []any{}}},
		},
	}
}

// TestMatch expects whether each expression matches the call of newCall.
func TestMatch(t *testing.T) {
	for text, want := range map[string]bool{
		`request.path == "/shop.Stock/Get"`:                        true,
		`request.url_path.startsWith("/shop.")`:                    true,
		`request.path.endsWith("/Put")`:                            false,
		`request.path.contains("Stock") && !false`:                 true,
		`request.host == "shop.example"`:                           true,
		`request.method == "POST"`:                                 true,
		`request.query == ""`:                                      true,
		`request.useragent == "grpc-go"`:                           true,
		`request.referer == "r" && request.id == "id"`:             true,
		`request.headers["x-a"] == "1,2"`:                          true,
		`request.headers["x-bin"] == "YQ"`:                         true,
		`request.headers[":path"] == "/shop.Stock/Get"`:            true,
		`request.headers["host"] == "shop.example"`:                true,
		`request.headers["te"] == "trailers"`:                      false, // hop-by-hop
		`"te" in request.headers`:                                  false,
		`"x-a" in request.headers`:                                 true,
		`request.headers["X-A"] == "1,2"`:                          false, // gRPC has names in lower case only
		`request.headers["missing"] == ""`:                         false,
		`request.headers["missing"] != "x"`:                        false, // an error is no match
		`has(request.headers.missing)`:                             false,
		`has(request.referer) && has(request.headers)`:             true,
		`has(request.scheme)`:                                      false,
		`has(request.time)`:                                        false,
		`request.scheme == "" || true`:                             true, // the other operand decides
		`request.scheme != "x"`:                                    false,
		`request.protocol == "HTTP/2"`:                             false,
		`size(request.headers) == 9`:                               true, // without te, with :method and :path
		`request.headers == {"a": "b"}`:                            false,
		`request.path.matches("^/[a-z]+[.]")`:                      true,
		`request.path.matches("Stock")`:                            true, // a part
		`request.path.matches(request.headers["x-re"])`:            true,
		`request.path.matches("^Stock")`:                           false,
		`matches(request.path, "Stock")`:                           true,
		`request.path in ["a", "/shop.Stock/Get"]`:                 true,
		`{"/shop.Stock/Get": true}[request.path]`:                  true,
		`int(request.headers["x-a"].size()) + 1 == 4`:              true,
		`1 + 2 * 3 - 4 / 2 % 3 == 5 && -1 < 0 && 1.5 > 0.5`:        true,
		`1u + 2u == 3u && 1.0 + 0.5 == 1.5`:                        true,
		`duration("1s") + duration("1s") == duration("2s")`:        true,
		`timestamp("2026-01-01T00:00:00Z").getFullYear() == 2026`:  true,
		`bytes("a") == b"a" && bool("true") && double("1") == 1.0`: true,
		`request.path == "x" ? false : true`:                       true,
		`[[[[1]]]] == [[[[1]]]] && {"a": [[{}]]} != {}`:            true,
		`null == null`:                                             true,
		`source.address == "10.0.0.1:80" && source.port == 80`:     true,
		`connection.requested_server_name == "sni"`:                true,
		`connection.tls_version == "TLSv1.3"`:                      true,
		`connection.sha256_peer_certificate_digest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`: true,
		`xds.cluster_metadata.filter_metadata["team"]["name"] == "a"`:                                                     true,
		`xds.cluster_metadata.filter_metadata["team"]["size"] == 3`:                                                       true,
		`xds.cluster_metadata.filter_metadata["team"]["size"] + 1 == 4`:                                                   true,
		`xds.cluster_metadata.filter_metadata["team"]["half"] == 0.5`:                                                     false, // neither a text nor an integer
		`has(xds.cluster_metadata.filter_metadata.team.half)`:                                                             false,
		`has(xds.cluster_metadata.filter_metadata.team.list)`:                                                             false,
		`has(xds.cluster_metadata.filter_metadata.other)`:                                                                 false,
		`xds.cluster_metadata.filter_metadata["other"]["name"] == "a"`:                                                    false,
		`xds.cluster_metadata.filter_metadata == {}`:                                                                      false,
	} {
		m, err := parse(t, &xdstypev3.CelExpression{CelExprChecked: checked(t, text, false)})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := m.Match(newCall()); got != want {
			t.Errorf("%s: matches %v; want %v", text, got, want)
		}
	}
}

// TestMatchRequest expects whether each expression matches an HTTP request of a client, and the same request at a server.
func TestMatchRequest(t *testing.T) {
	request := func(target, host string, received bool) *matchtree.Request {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		return &matchtree.Request{
			Method: http.MethodPut, URL: u, Host: host, Received: received,
			Header: http.Header{"X-A": {"1", "2"}, "Referer": {"r"}, "User-Agent": {"curl"}, "X-Request-Id": {"id"}},
		}
	}
	properties := newCall().Attributes
	calls := [2]*matchtree.Call{
		{Request: request("https://shop.example/a%20b?c=d", "", false)},
		{Request: request("/a%20b?c=d", "shop.example", true), Attributes: properties},
	}
	for text, want := range map[string][2]bool{
		`request.path == "/a%20b?c=d"`:                {true, false},
		`request.path == "/a b?c=d"`:                  {false, true}, // as routes match it on servers
		`request.url_path == "/a%20b"`:                {true, false},
		`request.url_path == "/a b"`:                  {false, true},
		`request.query == "c=d"`:                      {true, true},
		`request.host == "shop.example"`:              {true, true},
		`request.method == "PUT"`:                     {true, true},
		`request.scheme == "https"`:                   {true, false},
		`request.scheme == "http"`:                    {false, true},
		`request.referer == "r"`:                      {true, true},
		`request.useragent == "curl"`:                 {true, true},
		`request.id == "id"`:                          {true, true},
		`request.headers["x-a"] == "1,2"`:             {true, true},
		`request.headers["X-A"] == "1,2"`:             {true, true}, // as in Envoy
		`request.headers["HOST"] == "shop.example"`:   {true, true},
		`request.headers[":authority"] != "x"`:        {true, true},
		`"x-b" in request.headers`:                    {false, false},
		`size(request.headers) == 8`:                  {true, true}, // four pseudo-headers
		`has(request.time) || has(request.protocol)`:  {false, false},
		`source.address == "10.0.0.1:80"`:             {false, true},
		`connection.tls_version == "TLSv1.3"`:         {false, true},
		`connection.requested_server_name == "sni"`:   {false, true},
		`has(xds.cluster_metadata.filter_metadata.x)`: {false, false},
	} {
		m, err := parse(t, &xdstypev3.CelExpression{CelExprChecked: checked(t, text, false)})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for i, side := range []string{"client", "server"} {
			if got := m.Match(calls[i]); got != want[i] {
				t.Errorf("%s: matches %v on a %s; want %v", text, got, side, want[i])
			}
		}
	}
	m, err := parse(t, &xdstypev3.CelExpression{CelExprChecked: checked(t, `size(request.headers) == 7`, false)})
	if err != nil {
		t.Fatal(err)
	}
	if !m.Match(&matchtree.Call{Request: request("/", "", true)}) {
		t.Error("a request without a host has another number of headers than 7")
	}
}

// Control planes may declare attributes by their qualified names.
func TestQualifiedNames(t *testing.T) {
	for text, want := range map[string]bool{
		`request.path == "/shop.Stock/Get"`:                      true,
		`request.headers["x-a"] == "1,2"`:                        true,
		`request.headers["x-a"] == request.method`:               false,
		`request.path == "/shop.Stock/Get" && request.id != "x"`: true,
	} {
		m, err := parse(t, &xdstypev3.CelExpression{CelExprChecked: checked(t, text, true)})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := m.Match(newCall()); got != want {
			t.Errorf("%s: matches %v; want %v", text, got, want)
		}
	}
}

// A call of a channel has no peer and perhaps no metadata. Its expressions do not match, and nothing panics.
func TestMissingAttributes(t *testing.T) {
	for _, attributes := range []matchtree.Attributes{nil, &properties{}, &properties{remote: &net.UnixAddr{Name: "a"}, state: new(tls.ConnectionState)}} {
		for _, text := range []string{
			`source.address != "x"`, `source.port != 1`, `connection.tls_version != "x"`, `connection.requested_server_name != "x"`,
			`connection.sha256_peer_certificate_digest != "x"`, `xds.cluster_metadata.filter_metadata["a"]["b"] != "x"`, `request.host != "x"`, `request.referer != "x"`, `has(source.address)`,
		} {
			m, err := parse(t, &xdstypev3.CelExpression{CelExprChecked: checked(t, text, false)})
			if err != nil {
				t.Errorf("%s: %v", text, err)
			} else if m.Match(&matchtree.Call{Method: "/s/m", Attributes: attributes}) {
				t.Errorf("%s matches", text)
			}
		}
	}
}

// TestViolations expects that expressions are rejected with a reason (A106).
func TestViolations(t *testing.T) {
	for text, want := range map[string]string{
		`request.path`:                                   `must be of the type bool; it is of the type string (A106)`,
		`1`:                                              `must be of the type bool; it is of the type int (A106)`,
		`[1, 2].exists(x, x == 1)`:                       `must not have a comprehension (A106)`,
		`request.headers.all(k, k == "a")`:               `must not have a comprehension (A106)`,
		`request.path + "a" == "b"`:                      `found no matching overload for '_+_' applied to '(string, string)'`,
		`b"a" + b"b" == b"c"`:                            `found no matching overload for '_+_'`,
		`[1] + [2] == [1, 2]`:                            `found no matching overload for '_+_'`,
		`[1, "a"][0] + [1, "a"][1] == "a"`:               `must not add values of unknown types`,
		`string(1) == "1"`:                               `undeclared reference to 'string'`,
		`string(request.headers["x"].size()) == "1"`:     `undeclared reference to 'string'`,
		`dyn("a") == "a"`:                                `undeclared reference to 'dyn'`,
		`response.code == 200`:                           `undeclared reference to 'response'`,
		`request.unknown == "a"`:                         `undefined field 'unknown'`,
		`request["path"] == "a"`:                         `found no matching overload for '_[_]'`,
		`source.name == "a"`:                             `undefined field 'name'`,
		`request.path == 1`:                              `found no matching overload for '_==_'`,
		`request.path.matches("(")`:                      `must be an RE2 regular expression: missing closing )`,
		`request.path.matches("a{200}")`:                 `regex`,
		`google.protobuf.BoolValue{value: true} == true`: `must not create a message (A106)`,
		`{?"a": optional.of("b")} == {"a": "b"}`:         `must not have optional elements (A106)`,
		`[?optional.of(1)] == [1]`:                       `must not have optional elements (A106)`,
		`request.headers.?a == request.headers.?b`:       `must not have optional elements (A106)`,
		strings.Repeat(`request.path.matches("a") || (`, 100) + `matches(request.path, "b")` + strings.Repeat(`)`, 100): `must not call the function matches more than 100 times`,
		`[[[[[1]]]]] == [[[[[1]]]]]`: `must not nest more than 4 lists and maps`,
		`{"a": [{"b": [{}]}]} == {}`: `must not nest more than 4 lists and maps`,
	} {
		_, err := parse(t, &xdstypev3.CelExpression{CelExprChecked: checked(t, text, false)})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "expr_match.cel_expr_checked; ") {
			t.Errorf("%.100s: %v\nwant %s", text, err, want)
		}
	}
}

// Only checked expressions of the canonical form are supported. The other forms are ignored, but for text (A106).
func TestForms(t *testing.T) {
	ok := checked(t, `true`, false)
	deep := new(expr.Expr)
	inner := deep
	for range 251 {
		next := new(expr.Expr)
		inner.ExprKind = &expr.Expr_SelectExpr{SelectExpr: &expr.Expr_Select{Operand: next, Field: "a"}}
		inner = next
	}
	many := &expr.Expr_CreateList{}
	for range 10_000 {
		many.Elements = append(many.Elements, &expr.Expr{ExprKind: &expr.Expr_ConstExpr{ConstExpr: &expr.Constant{ConstantKind: &expr.Constant_Int64Value{}}}})
	}
	of := func(e *expr.Expr) *xdstypev3.CelExpression {
		return &xdstypev3.CelExpression{CelExprChecked: &expr.CheckedExpr{Expr: e}}
	}
	for name, tt := range map[string]struct {
		m    *xdstypev3.CelExpression
		want string
	}{
		"checked":        {&xdstypev3.CelExpression{CelExprChecked: ok}, ""},
		"parsed, too":    {&xdstypev3.CelExpression{CelExprChecked: ok, CelExprParsed: new(expr.ParsedExpr)}, ""},
		"parsed":         {&xdstypev3.CelExpression{CelExprParsed: &expr.ParsedExpr{Expr: ok.GetExpr()}}, "expr_match.cel_expr_checked; must be set (A106)"},
		"text":           {&xdstypev3.CelExpression{CelExprChecked: ok, CelExprString: "true"}, "expr_match.cel_expr_string; must not be set"},
		"none":           {nil, "expr_match.cel_expr_checked; must be set (A106)"},
		"no kind":        {of(new(expr.Expr)), "has a node without a kind"},
		"no constant":    {of(&expr.Expr{ExprKind: &expr.Expr_ConstExpr{}}), "has a constant without a kind"},
		"too deep":       {of(deep), "must not nest more than 250 nodes"},
		"too many nodes": {of(&expr.Expr{ExprKind: &expr.Expr_ListExpr{ListExpr: many}}), "must have at most 10000 nodes"},
		"a huge name":    {of(&expr.Expr{ExprKind: &expr.Expr_IdentExpr{IdentExpr: &expr.Expr_Ident{Name: strings.Repeat("a", 257)}}}), "must not have a name of more than 256 bytes"},
		"a huge call":    {of(&expr.Expr{ExprKind: &expr.Expr_CallExpr{CallExpr: &expr.Expr_Call{Function: strings.Repeat("a", 257)}}}), "must not have a name of more than 256 bytes"},
		"a known length": {of(&expr.Expr{ExprKind: &expr.Expr_IdentExpr{IdentExpr: &expr.Expr_Ident{Name: strings.Repeat("a", 256)}}}), "undeclared reference"},
		"a long name":    {of(&expr.Expr{ExprKind: &expr.Expr_IdentExpr{IdentExpr: &expr.Expr_Ident{Name: strings.Repeat("a.", 9)}}}), "must not use the attribute"},
	} {
		_, err := parse(t, tt.m)
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}
	}
}

// The types and references of the control plane have no effect: a wrong one must not select another function.
func TestTypesAreCheckedAgain(t *testing.T) {
	m := checked(t, `request.path == "/shop.Stock/Get" && 1 + 1 == 2`, false)
	for id := range m.GetReferenceMap() {
		m.ReferenceMap[id] = &expr.Reference{OverloadId: []string{"add_string"}, Name: "x"}
	}
	for id := range m.GetTypeMap() {
		m.TypeMap[id] = &expr.Type{TypeKind: &expr.Type_Primitive{Primitive: expr.Type_BYTES}}
	}
	got, err := parse(t, &xdstypev3.CelExpression{CelExprChecked: m})
	if err != nil || !got.Match(newCall()) {
		t.Errorf("with other types and references: %v; must match", err)
	}
}

// A regular expression of a call's header is limited, too. Exceeding the limit is no match.
func TestRegexOfAHeader(t *testing.T) {
	m, err := parse(t, &xdstypev3.CelExpression{CelExprChecked: checked(t, `request.path.matches(request.headers["x-re"])`, false)})
	if err != nil {
		t.Fatal(err)
	}
	for re, want := range map[string]bool{"Stock": true, "(": false, "S|" + strings.Repeat("a", 150): false, "Stock|[" + strings.Repeat("a", 1000) + "]": true, "Stock|[" + strings.Repeat("a", 1020) + "]": false} {
		c := newCall()
		c.Metadata["x-re"] = []string{re}
		if got := m.Match(c); got != want {
			t.Errorf("%.20s: matches %v; want %v", re, got, want)
		}
	}
}

// An evaluation of a header costs few allocations.
func TestAllocations(t *testing.T) {
	m, err := parse(t, &xdstypev3.CelExpression{CelExprChecked: checked(t, `request.headers["x-b"] == "1" && request.path.startsWith("/shop.")`, false)})
	if err != nil {
		t.Fatal(err)
	}
	c := newCall()
	c.Metadata["x-b"] = []string{"1"}
	if !m.Match(c) {
		t.Fatal("the expression does not match")
	}
	if n := testing.AllocsPerRun(1000, func() { m.Match(c) }); n > 8 {
		t.Errorf("an evaluation allocates %v times; want at most 8", n)
	}
}

func BenchmarkMatch(b *testing.B) {
	m, err := parse(b, &xdstypev3.CelExpression{CelExprChecked: checked(b, `request.headers["x-b"] == "1" && request.path.startsWith("/shop.")`, false)})
	if err != nil {
		b.Fatal(err)
	}
	c := newCall()
	c.Metadata["x-b"] = []string{"1"}
	b.ReportAllocs()
	for b.Loop() {
		m.Match(c)
	}
}

// FuzzRead expects that no expression makes the decoder or the evaluation panic.
func FuzzRead(f *testing.F) {
	for _, text := range []string{`request.headers["x-a"] == "1"`, `request.path.matches("a+") || size(request.headers) > 2`, `{"a": [1]}["a"][0] == 1`, `has(request.referer)`} {
		b, err := proto.Marshal(checked(f, text, false))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	env, err := newEnv()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := new(expr.CheckedExpr)
		if proto.Unmarshal(b, m) != nil {
			return
		}
		got, err := read(new(resource.DecodeContext), env, &matcherv3.CelMatcher{ExprMatch: &xdstypev3.CelExpression{CelExprChecked: m}})
		if err != nil {
			return
		}
		e := got.(*evaluator)
		out, _, err := e.program.Eval(variables{newCall()})
		if err == nil && out.Type() != types.BoolType {
			t.Errorf("the result is a %v", out.Type())
		}
		if err != nil && strings.Contains(fmt.Sprint(err), "internal error") {
			t.Errorf("a panic: %v", err)
		}
	})
}
