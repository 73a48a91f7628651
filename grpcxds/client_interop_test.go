package grpcxds_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/credentials/insecure"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/xds"
)

// apart has the calls, by method and headers, in which we follow gRFC A28 and grpc-go 1.85 does
// not. By A28, a header with an empty value is present, binary headers are hidden, and the content
// type is visible. Each has our result.
var apart = map[string]string{
	`/prefix.S/M [p ]`:      "c9",
	`/prefix.S/M [b-bin 1]`: "Unavailable",
	`/prefix.S/M [ct 1]`:    "c12",
}

// With the same resources, our channel and grpc-go's own route a table of calls alike.
func TestRoutingDecisionsAreThoseOfGRPC(t *testing.T) {
	p := newPlane(t)
	var routes strings.Builder
	route := func(match string) {
		name := fmt.Sprintf("c%d", strings.Count(routes.String(), "routes {"))
		p.cluster(name, name, newBackend(t, name))
		fmt.Fprintf(&routes, `routes { match { %s } route { cluster: %q } } `, match, name)
	}
	header := func(name, what string) string {
		return fmt.Sprintf(` headers { name: %q %s } `, name, what)
	}
	route(`path: "/exact.S/M"`)
	route(`path: "/FOLD.S/m" case_sensitive {}`)
	route(`prefix: "/prefix.S/" ` + header("a", `string_match { exact: "1" }`))
	route(`prefix: "/prefix.S/" ` + header("a", `string_match { prefix: "2" }`))
	route(`prefix: "/prefix.S/" ` + header("a", `string_match { suffix: "3" }`))
	route(`prefix: "/prefix.S/" ` + header("a", `string_match { contains: "mid" }`))
	route(`prefix: "/prefix.S/" ` + header("a", `string_match { safe_regex { regex: "r[0-9]+" } }`))
	route(`prefix: "/prefix.S/" ` + header("a", `string_match { exact: "Ignore" ignore_case: true }`))
	route(`prefix: "/prefix.S/" ` + header("n", `range_match { start: -5 end: 10 }`))
	route(`prefix: "/prefix.S/" ` + header("p", `present_match: true`) + header("q", `present_match: false`))
	route(`prefix: "/prefix.S/" ` + header("i", `string_match { exact: "x" } invert_match: true`))
	route(`prefix: "/prefix.S/" ` + header("b-bin", `present_match: true`))
	route(`prefix: "/prefix.S/" ` + header("content-type", `string_match { exact: "application/grpc" }`) + header("ct", `present_match: true`))
	route(`prefix: "/PREFIX.S/" case_sensitive {} ` + header("f", `present_match: true`))
	route(`safe_regex { regex: "/regex\\.[A-Z]/.*" }`)
	route(`prefix: "/never.S/" runtime_fraction { default_value { numerator: 0 } }`)
	route(`prefix: "/query.S/" query_parameters { name: "x" present_match: true }`)
	route(`prefix: "/grpc.S/" grpc {}`)
	routes.WriteString(`routes { match { prefix: "/server.S/" } non_forwarding_action {} } `)
	route(`prefix: "/query.S/"`)
	p.routes("r", hosts("svc", routes.String()))
	p.listener("svc", rds("r"))

	config := fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry())
	ours := newChannel(t, newEnv(t, config), "xds:///svc")
	builder, err := xds.NewXDSResolverWithConfigForTesting([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := grpc.NewClient("xds:///svc", grpc.WithResolvers(builder), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()

	headers := [][]string{
		nil,
		{"a", "1"},
		{"a", "1", "a", "1"},
		{"A", "22"},
		{"a", "x3"},
		{"a", "amidb"},
		{"a", "r17"},
		{"a", "r"},
		{"a", "iGNORE"},
		{"a", ""},
		{"n", "-5"},
		{"n", "9"},
		{"n", "10"},
		{"n", "1.5"},
		{"n", ""},
		{"p", ""},
		{"p", "1", "q", "1"},
		{"i", "x"},
		{"i", "y"},
		{"i", ""},
		{"b-bin", "1"},
		{"ct", "1"},
		{"f", "1"},
		{"a", "2", "n", "3"},
		{"n", "3", "a", "2"},
	}
	methods := []string{
		"/exact.S/M", "/exact.S/m", "/fold.S/M", "/prefix.S/M", "/prefix.s/M", "/prefix.S", "/regex.A/x", "/regex.a/x", "/xregex.A/x",
		"/never.S/M", "/query.S/M", "/grpc.S/M", "/server.S/M", "/none.S/M",
	}
	answered := make(map[string]bool)
	for _, method := range methods {
		for _, list := range headers {
			ctx := metadata.AppendToOutgoingContext(soon(t), list...)
			decide := func(cc *grpc.ClientConn) string {
				who, err := call(ctx, cc, method)
				if err != nil {
					return status.Code(err).String()
				}
				return who
			}
			got, want := decide(ours), decide(theirs)
			answered[got] = true
			if ours, ok := apart[fmt.Sprintf("%s %s", method, list)]; ok {
				if got != ours || got == want {
					t.Errorf("%s with %q: ours goes to %s, want %s; grpc-go's to %s", method, list, got, ours, want)
				}
				continue
			}
			if got != want {
				t.Errorf("%s with %q: ours goes to %s, grpc-go's to %s", method, list, got, want)
			}
		}
	}
	if len(answered) < 16 {
		t.Errorf("the calls only went to %d clusters", len(answered))
	}
}
