package cel_test

import (
	"net/http"
	"testing"

	"cel.dev/expr"
	corev3 "github.com/cncf/xds/go/xds/core/v3"
	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	xdstypev3 "github.com/cncf/xds/go/xds/type/v3"
	envoycorev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matchingv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/matching/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/cel"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/xdstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pack(m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		panic(err) // all messages can be packed
	}
	return a
}

func extension(m proto.Message) *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{Name: "x", TypedConfig: pack(m)}
}

// aborting returns the action that aborts calls with a status.
func aborting(code codes.Code) *matcherv3.Matcher_OnMatch {
	fault := &faultv3.HTTPFault{Abort: &faultv3.FaultAbort{
		ErrorType: &faultv3.FaultAbort_GrpcStatus{GrpcStatus: uint32(code)}, Percentage: &typev3.FractionalPercent{Numerator: 100},
	}}
	return &matcherv3.Matcher_OnMatch{OnMatch: &matcherv3.Matcher_OnMatch_Action{Action: extension(&compositev3.ExecuteFilterAction{
		TypedConfig: &envoycorev3.TypedExtensionConfig{Name: "fault", TypedConfig: pack(fault)},
	})}}
}

// chaos is the checked expression request.headers["x-team"] == "chaos".
func chaos() *expr.Expr {
	text := func(s string) *expr.Expr {
		return &expr.Expr{ExprKind: &expr.Expr_ConstExpr{ConstExpr: &expr.Constant{ConstantKind: &expr.Constant_StringValue{StringValue: s}}}}
	}
	call := func(function string, args ...*expr.Expr) *expr.Expr {
		return &expr.Expr{ExprKind: &expr.Expr_CallExpr{CallExpr: &expr.Expr_Call{Function: function, Args: args}}}
	}
	headers := &expr.Expr{ExprKind: &expr.Expr_SelectExpr{SelectExpr: &expr.Expr_Select{
		Operand: &expr.Expr{ExprKind: &expr.Expr_IdentExpr{IdentExpr: &expr.Expr_Ident{Name: "request"}}}, Field: "headers",
	}}}
	return call("_==_", call("_[_]", headers, text("x-team")), text("chaos"))
}

// apiListener returns a Listener that aborts the calls that match chaos with ABORTED, and the others with PERMISSION_DENIED. It has
// one route.
func apiListener(r *routev3.Route) proto.Message {
	predicate := &matcherv3.Matcher_MatcherList_Predicate{MatchType: &matcherv3.Matcher_MatcherList_Predicate_SinglePredicate_{
		SinglePredicate: &matcherv3.Matcher_MatcherList_Predicate_SinglePredicate{
			Input: extension(new(matcherv3.HttpAttributesCelMatchInput)),
			Matcher: &matcherv3.Matcher_MatcherList_Predicate_SinglePredicate_CustomMatch{CustomMatch: extension(&matcherv3.CelMatcher{
				ExprMatch: &xdstypev3.CelExpression{CelExprChecked: &expr.CheckedExpr{Expr: chaos()}},
			})},
		},
	}}
	composite := &matchingv3.ExtensionWithMatcher{
		ExtensionConfig: &envoycorev3.TypedExtensionConfig{Name: "composite", TypedConfig: pack(new(compositev3.Composite))},
		XdsMatcher: &matcherv3.Matcher{
			MatcherType: &matcherv3.Matcher_MatcherList_{MatcherList: &matcherv3.Matcher_MatcherList{
				Matchers: []*matcherv3.Matcher_MatcherList_FieldMatcher{{Predicate: predicate, OnMatch: aborting(codes.Aborted)}},
			}},
			OnNoMatch: aborting(codes.PermissionDenied),
		},
	}
	r.Match = &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{}}
	host := &routev3.VirtualHost{Name: "h", Domains: []string{"*"}, Routes: []*routev3.Route{r}}
	return &listenerv3.Listener{Name: "shop", ApiListener: &listenerv3.ApiListener{ApiListener: pack(&hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{Name: "r", VirtualHosts: []*routev3.VirtualHost{host}}},
		HttpFilters: []*hcmv3.HttpFilter{
			{Name: "composite", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(composite)}},
			{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(new(routerv3.Router))}},
		},
	})}}
}

// A channel whose Env registers CEL chooses filters by an expression. Another one rejects the Listener.
func TestChannel(t *testing.T) {
	cp := xdstest.Start(t, listener.Type(), route.Type(), cluster.Type(), endpoint.Type())
	cp.Set(apiListener(&routev3.Route{Action: &routev3.Route_NonForwardingAction{NonForwardingAction: new(routev3.NonForwardingAction)}}))
	dial := func(types ...func(xdsforge.Registrar)) *grpc.ClientConn {
		cc, err := grpcxds.Dialer{Env: cp.Env(xdsforge.WithTypes(types...))}.NewClient("xds:///shop", grpcxds.WithCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cc.Close() })
		return cc
	}
	call := func(cc *grpc.ClientConn, team string) error {
		return cc.Invoke(metadata.AppendToOutgoingContext(t.Context(), "x-team", team), "/shop.Stock/Get", new(emptypb.Empty), new(emptypb.Empty))
	}
	cc := dial(grpcxds.Register, cel.Register)
	for team, want := range map[string]codes.Code{"chaos": codes.Aborted, "shop": codes.PermissionDenied} {
		if err := call(cc, team); status.Code(err) != want {
			t.Errorf("a call of the team %s: %v; want %v", team, err, want)
		}
	}
	if err := call(dial(grpcxds.Register), "chaos"); status.Code(err) != codes.Unavailable {
		t.Errorf("a call of a channel without CEL: %v; want UNAVAILABLE", err)
	}
	cp.WantRejected(listener.Type(), "needs CEL: import the module github.com/xdsforge/xdsforge/cel")
}

// An HTTP client whose Env registers CEL chooses filters by an expression.
func TestTransport(t *testing.T) {
	cp := xdstest.Start(t, listener.Type(), route.Type(), cluster.Type(), endpoint.Type())
	cp.Set(apiListener(&routev3.Route{Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: http.StatusOK}}}))
	rt, err := httpxds.NewTransport("xds:///shop", httpxds.WithEnv(cp.Env(xdsforge.WithTypes(httpxds.Register, cel.Register))))
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	for team, want := range map[string]int{"chaos": http.StatusConflict, "shop": http.StatusForbidden} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Team", team)
		resp, err := rt.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("a request of the team %s: %s; want %d", team, resp.Status, want)
		}
	}
}
