package convert_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// said is the result of a conversion on one line.
func said(v *resource.Violations) string {
	if err := v.Err(); err != nil {
		return err.Error()
	}
	return ""
}

func at() resource.Path {
	var root resource.Path
	return root.Field("x")
}

func TestDuration(t *testing.T) {
	for _, test := range []struct {
		in   *durationpb.Duration
		want time.Duration
		says string
	}{
		{nil, 0, ""},
		{durationpb.New(-time.Second), -time.Second, ""},
		{&durationpb.Duration{Seconds: 9_223_372_035, Nanos: 999_999_999}, 9_223_372_035_999_999_999, ""},
		{&durationpb.Duration{Seconds: 9_223_372_037}, math.MaxInt64, ""},
		{&durationpb.Duration{Seconds: 315_576_000_000}, math.MaxInt64, ""},
		{&durationpb.Duration{Seconds: -315_576_000_000}, math.MinInt64, ""},
		{&durationpb.Duration{Seconds: 315_576_000_001}, 0, "x = 315576000001s; must be a valid google.protobuf.Duration"},
		{&durationpb.Duration{Seconds: -315_576_000_001}, 0, "x = -315576000001s; must be a valid google.protobuf.Duration"},
		{&durationpb.Duration{Seconds: 1, Nanos: -1}, 0, "x = 1s; must be a valid google.protobuf.Duration"},
	} {
		v := new(resource.Violations)
		if got := convert.Duration(at(), test.in, v); got != test.want || said(v) != test.says {
			t.Errorf("Duration(%v) = %v, %q; want %v, %q", test.in, got, said(v), test.want, test.says)
		}
	}
}

func TestTimestamp(t *testing.T) {
	v := new(resource.Violations)
	now := time.Unix(1_700_000_000, 5).UTC()
	if got := convert.Timestamp(at(), timestamppb.New(now), v); !got.Equal(now) {
		t.Errorf("Timestamp = %v; want %v", got, now)
	}
	if got := convert.Timestamp(at(), nil, v); !got.IsZero() || said(v) != "" {
		t.Errorf("no Timestamp = %v, %q", got, said(v))
	}
	convert.Timestamp(at(), &timestamppb.Timestamp{Nanos: -1}, v)
	if want := "x = 0s; must be a time between the years 1 and 9999"; said(v) != want {
		t.Errorf("said %q; want %q", said(v), want)
	}
}

func TestWrappers(t *testing.T) {
	if got := convert.Or(wrapperspb.UInt32(0), 7); got != 0 {
		t.Errorf("Or(0, 7) = %d", got)
	}
	if got := convert.Or((*wrapperspb.StringValue)(nil), "x"); got != "x" {
		t.Errorf("Or(nil, x) = %q", got)
	}
	if s := convert.Slice[int](0); s != nil {
		t.Errorf("Slice(0) = %v; must be nil", s)
	}
	if s := convert.Slice[int](3); len(s) != 0 || cap(s) != 3 {
		t.Errorf("Slice(3) has length %d and capacity %d", len(s), cap(s))
	}
	if convert.Count() != 0 || convert.Count(true, false, true) != 2 {
		t.Error("Count does not count the true values")
	}
	if !convert.Is[fmt.Stringer](time.Second) || convert.Is[fmt.Stringer](nil) {
		t.Error("Is does not tell types")
	}
}

func TestOpenAny(t *testing.T) {
	right, err := anypb.New(wrapperspb.Bool(true))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		in   *anypb.Any
		ok   bool
		says string
	}{
		{right, true, ""},
		{&anypb.Any{TypeUrl: "x/google.protobuf.Int32Value"}, false, `x = "google.protobuf.Int32Value"; must be a google.protobuf.BoolValue`},
		{&anypb.Any{}, false, `x = ""; must be a google.protobuf.BoolValue`},
	} {
		v := new(resource.Violations)
		if ok := convert.OpenAny(new(resource.DecodeContext), at(), test.in, new(wrapperspb.BoolValue), v); ok != test.ok || said(v) != test.says {
			t.Errorf("OpenAny(%v) = %v, %q; want %v, %q", test.in, ok, said(v), test.ok, test.says)
		}
	}
	v := new(resource.Violations)
	if convert.OpenAny(new(resource.DecodeContext), at(), &anypb.Any{TypeUrl: right.GetTypeUrl(), Value: []byte{0xff}}, new(wrapperspb.BoolValue), v) || said(v) == "" {
		t.Error("garbage was opened")
	}
}

func TestPerMillion(t *testing.T) {
	for _, test := range []struct {
		numerator   uint32
		denominator typev3.FractionalPercent_DenominatorType
		want        uint32
	}{
		{1, typev3.FractionalPercent_HUNDRED, 10_000},
		{1, typev3.FractionalPercent_TEN_THOUSAND, 100},
		{1, typev3.FractionalPercent_MILLION, 1},
		{100, typev3.FractionalPercent_HUNDRED, 1_000_000},
		{1 << 31, typev3.FractionalPercent_HUNDRED, 1_000_000},
		{1, 9, 0},
	} {
		v := new(resource.Violations)
		got := convert.PerMillion(at(), &typev3.FractionalPercent{Numerator: test.numerator, Denominator: test.denominator}, v)
		if got != test.want || (said(v) == "") == (test.denominator > 2) {
			t.Errorf("PerMillion(%d, %v) = %d, %q; want %d", test.numerator, test.denominator, got, said(v), test.want)
		}
	}
}

func address(host string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

func TestAddresses(t *testing.T) {
	for _, host := range []string{"10.0.0.1", "::1", "fe80::1%eth0", "example.com", "a-very-long-name-that-does-not-fit-into-the-buffer.of-sixty-four-bytes.example.com"} {
		v := new(resource.Violations)
		if got, want := convert.HostPort(new(resource.DecodeContext), at(), address(host, 65535), v), net.JoinHostPort(host, "65535"); got != want || said(v) != "" {
			t.Errorf("HostPort(%q) = %q, %q; want %q", host, got, said(v), want)
		}
		ip, err := netip.ParseAddr(host)
		if got := convert.AddrPort(at(), address(host, 1), v); got.IsValid() != (err == nil) || got.Addr() != ip || (said(v) == "") != (err == nil) {
			t.Errorf("AddrPort(%q) = %v, %q; netip says %v", host, got, said(v), err)
		}
	}
}

// Profile Envoy accepts addresses that are not sockets, and no other invalid ones.
func TestAddressesOfEnvoy(t *testing.T) {
	types, err := new(resource.Set).Extend(resource.Envoy)
	if err != nil {
		t.Fatal(err)
	}
	dc := &resource.DecodeContext{Types: types}
	v := new(resource.Violations)
	if got := convert.HostPort(dc, at(), &corev3.Address{Address: &corev3.Address_Pipe{Pipe: new(corev3.Pipe)}}, v); got != "" || said(v) != "" {
		t.Errorf("the address of a pipe is %q, %q; want none without a violation", got, said(v))
	}
	if got := convert.HostPort(dc, at(), address("h", 65536), v); got != "" || !strings.Contains(said(v), "must be at most 65535") {
		t.Errorf("the address of a port above 65535 is %q, %q", got, said(v))
	}
}

// The conversion writes ports of any length as strconv does.
func TestPorts(t *testing.T) {
	for _, port := range []uint32{0, 9, 10, 80, 99, 100, 443, 999, 1000, 8080, 9999, 10000, 50051, 65535} {
		v := new(resource.Violations)
		if got, want := convert.HostPort(new(resource.DecodeContext), at(), address("h", port), v), "h:"+strconv.Itoa(int(port)); got != want || said(v) != "" {
			t.Errorf("HostPort with port %d = %q, %q; want %q", port, got, said(v), want)
		}
	}
}

// A Set equals a map, below and above the size at which it switches to one.
func TestSet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, size := range []int{1, 10, 127, 128, 129, 1000} {
		var seen convert.Set[string]
		model := make(map[string]bool)
		for range 5 * size {
			k := strconv.Itoa(rnd.IntN(size))
			if got := seen.Before(k); got != model[k] {
				t.Fatalf("of %d keys, Before(%s) = %v after %d", size, k, got, len(model))
			}
			model[k] = true
		}
	}
	keys := make([]string, 128)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	if n := testing.AllocsPerRun(10, func() {
		var seen convert.Set[string]
		for _, k := range keys {
			if seen.Before(k) {
				t.Error("a new key was there before")
			}
		}
	}); n > 0 {
		t.Errorf("128 keys allocate %v times", n)
	}
}

func TestSums(t *testing.T) {
	var sums convert.Sums[int]
	model := make(map[int]uint64)
	rnd := rand.New(rand.NewPCG(2, 2))
	for range 1000 {
		group, number := rnd.IntN(40), rnd.Uint32()
		model[group] += uint64(number)
		if got := sums.Add(group, number); got != model[group] {
			t.Fatalf("sum of %d = %d; want %d", group, got, model[group])
		}
	}
}

type custom struct{ id, ignored int }

func (c *custom) Equal(o *custom) bool { return c.id == o.id }

func TestEqual(t *testing.T) {
	if !convert.EqualValues(&custom{1, 2}, &custom{1, 3}) || convert.EqualValues(&custom{1, 2}, nil) || !convert.EqualValues[*custom](nil, nil) {
		t.Error("EqualValues does not go by the method Equal")
	}
	if !convert.EqualValues(address("a", 1), address("a", 1)) || convert.EqualValues(address("a", 1), address("a", 2)) {
		t.Error("EqualValues does not compare messages")
	}
	if !convert.EqualValues([]int{1}, []int{1}) || convert.EqualValues(error(nil), errors.New("x")) {
		t.Error("EqualValues does not compare deeply")
	}
	if !convert.EqualUpdates(nil, nil) {
		t.Error("no update is equal to no update")
	}
	one, two := 1, 2
	if !convert.EqualPointers(&one, &one, convert.Same) || convert.EqualPointers(&one, &two, convert.Same) || convert.EqualPointers(&one, nil, convert.Same) || !convert.EqualPointers[int](nil, nil, convert.Same) {
		t.Error("EqualPointers does not compare the pointed-to values")
	}
}
