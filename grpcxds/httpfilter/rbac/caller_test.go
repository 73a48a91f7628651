package rbac_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/rbac"
)

// Nothing that a caller controls ends the evaluation of the policies: a denied call stays denied.
func TestCallersDoNotEscape(t *testing.T) {
	deny := interceptor(t, rbac.Filter(), rules(t, `action: DENY policies { key: "p" value { principals { any: true }
		permissions { header { name: "tier" string_match { safe_regex { regex: "(a|aa)*" } } invert_match: true } } } }`))
	allow := interceptor(t, rbac.Filter(), rules(t, `policies { key: "p" value { principals { any: true } permissions { header { name: "role" string_match { exact: "admin" } } } } }`))
	for rule, i := range map[string]httpfilter.ServerBefore{"DENY": deny, "ALLOW": allow} {
		call := aCall(nil)
		call.Metadata = metadata.MD{"tier": {"aa"}, "role": {"admin"}}
		if !allowed(t, i, call) {
			t.Errorf("%s: a good call is denied", rule)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	many := metadata.MD{"tier": {"gold"}}
	for i := range 10_000 {
		many.Append(fmt.Sprint("x-", i), "v")
	}
	for name, tt := range map[string]struct {
		ctx context.Context //nolint:containedctx // of the call
		md  metadata.MD
	}{
		"canceled":              {canceled, metadata.MD{"tier": {"gold"}}},
		"256 KiB in one value":  {t.Context(), metadata.MD{"tier": {strings.Repeat("a", 256<<10) + "!"}}},
		"10,000 headers":        {t.Context(), many},
		"text that is no UTF-8": {t.Context(), metadata.MD{"tier": {"\xff\xfe"}, "role": {"admin\xff"}}},
		"two values":            {t.Context(), metadata.MD{"tier": {"a", "b"}, "role": {"admin", "x"}}},
		"another case":          {t.Context(), metadata.MD{"tier": {"A"}, "role": {"Admin"}}},
		"an empty value":        {t.Context(), metadata.MD{"tier": {"!"}, "role": {""}}},
		"a binary header":       {t.Context(), metadata.MD{"tier": {"b"}, "role-bin": {"admin"}}},
	} {
		for rule, i := range map[string]httpfilter.ServerBefore{"DENY": deny, "ALLOW": allow} {
			call := aCall(nil)
			call.Metadata = tt.md
			if _, err := i(tt.ctx, call); status.Code(err) != codes.PermissionDenied {
				t.Errorf("%s, %s: %v; want PERMISSION_DENIED", name, rule, err)
			}
		}
	}
}
