package resource_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// limited returns the context for a resource of a response with these limits.
func limited(t *testing.T, l resource.Limits, shared *wire.Shared) *resource.DecodeContext {
	t.Helper()
	set, err := resource.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	dc := &resource.DecodeContext{Types: set, Budget: new(wire.Budget)}
	set.Start(dc.Budget, l.WithDefaults(), shared)
	return dc
}

func says(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q in it", err, want)
	}
}

// A small regular expression costs a base amount, a large one its instructions.
func TestRegexpLimit(t *testing.T) {
	for _, test := range []struct {
		name, expr string
		fits       int // with this many distinct expressions
	}{
		{"small", "x%d", 25},
		{"with repetitions", "(abcdefghij){60}%d", 1},
		{"with large classes", `\pL\pN\pS\pP%d`, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			dc := limited(t, resource.Limits{ResourceRegexps: 1000}, nil)
			n := 0
			var err error
			for ; err == nil && n < 1000; n++ {
				_, err = dc.Regexp(fmt.Sprintf(test.expr, n))
			}
			says(t, err, "exceed the decode limit ResourceRegexps (xdsforge.WithLimits)")
			if n-1 < test.fits || n-1 > 4*test.fits {
				t.Errorf("%d expressions fit, want about %d", n-1, test.fits)
			}
		})
	}
	_, err := limited(t, resource.Limits{ResourceRegexps: 100}, nil).Regexp(strings.Repeat("(", 101))
	says(t, err, "101 instructions of regular expressions exceed") // it was not parsed
}

// A compiled expression costs nothing when it is used again.
func TestSharedRegexpIsFree(t *testing.T) {
	dc := limited(t, resource.Limits{ResourceRegexps: 50}, nil)
	for range 10 {
		if _, err := dc.Regexp("a+"); err != nil {
			t.Fatal(err)
		}
	}
}

// A limit that is zero or negative gets its default. Others stay as they are.
func TestLimitDefaults(t *testing.T) {
	defaults := resource.Limits{}.WithDefaults()
	if defaults.ResourceSize <= 0 || defaults.ResponseSize <= 0 || defaults.ResourceRegexps <= 0 || defaults.ResponseRegexps <= 0 || defaults.CollectionMembers <= 0 {
		t.Errorf("defaults = %+v, want limits above zero", defaults)
	}
	negative := resource.Limits{ResourceSize: -1, ResponseSize: -1, ResourceRegexps: -1, ResponseRegexps: -1, CollectionMembers: -1}
	if got := negative.WithDefaults(); got != defaults {
		t.Errorf("negative limits become %+v, want the defaults %+v", got, defaults)
	}
	set := resource.Limits{ResourceSize: 1, ResponseSize: 2, ResourceRegexps: 3, ResponseRegexps: 4, CollectionMembers: 5}
	if got := set.WithDefaults(); got != set {
		t.Errorf("the limits %+v became %+v", set, got)
	}
}

// The resources of a response share a limit, even if several budgets decode them.
func TestResponseLimit(t *testing.T) {
	l := resource.Limits{ResponseSize: 1000, ResourceSize: 1 << 20}.WithDefaults()
	shared := l.Response(400)
	first, second := limited(t, l, shared), limited(t, l, shared)
	if err := first.Spend(10, 60); err != nil {
		t.Fatal(err)
	}
	if err := second.Spend(10, 60); err != nil {
		t.Fatal(err) // 1000, and half of the 400 bytes of the response
	}
	says(t, second.Spend(1, 1), "1 bytes in memory exceed the decode limit ResponseSize")
	says(t, limited(t, l, nil).Spend(1<<20, 2), "1048576 elements of 2 bytes exceed the decode limit ResourceSize")
}

// The budget measures a message by its elements before the decoder unmarshals it.
func TestMessageLimit(t *testing.T) {
	list := &structpb.ListValue{Values: make([]*structpb.Value, 1000)}
	for i := range list.GetValues() {
		list.Values[i] = new(structpb.Value)
	}
	b, err := proto.Marshal(structpb.NewListValue(list))
	if err != nil {
		t.Fatal(err)
	}
	if err := limited(t, resource.Limits{ResourceSize: 1 << 20}, nil).Unmarshal(b, new(structpb.Value)); err != nil {
		t.Error(err)
	}
	m := new(structpb.Value)
	says(t, limited(t, resource.Limits{ResourceSize: 64 << 10}, nil).Unmarshal(b, m), "exceed the decode limit ResourceSize")
	if m.GetKind() != nil {
		t.Error("the message was unmarshalled nevertheless")
	}
	fields := &structpb.Struct{Fields: make(map[string]*structpb.Value)}
	for i := range 100 {
		fields.Fields[fmt.Sprint(i)] = structpb.NewStringValue("x")
	}
	if b, err = proto.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	says(t, limited(t, resource.Limits{ResourceSize: 20 << 10}, nil).Unmarshal(b, new(structpb.Struct)), "exceed the decode limit ResourceSize")
}
