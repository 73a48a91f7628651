package plugintest

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

type inner struct{ N uint8 }

type everything struct {
	Bool   bool
	Int    int
	Float  float64
	String string
	Slice  []inner
	Map    map[string]int
	Some   *inner
	None   *inner
	Face   any
	Addr   netip.Addr
	Wait   time.Duration
	hidden int
}

// changes changes every exported field, at every depth.
func TestChanges(t *testing.T) {
	v := everything{Slice: []inner{{1}}, Map: map[string]int{"a": 1}, Some: &inner{}, Face: inner{}, Addr: netip.MustParseAddr("::1"), hidden: 1}
	var paths []string
	for _, c := range changes(reflect.ValueOf(v), "v") {
		paths = append(paths, c.path)
		if reflect.DeepEqual(c.value.Interface(), v) {
			t.Errorf("%s was not changed", c.path)
		}
	}
	want := []string{
		"v.Bool", "v.Int", "v.Float", "v.String", "v.Slice[+1]", "v.Slice[-1]", "v.Slice[0].N", "v.Map",
		"v.Some", "v.None", "v.Face", "v.Face.inner.N", "v.Addr", "v.Wait",
	}
	if !slices.Equal(paths, want) {
		t.Errorf("changes\n%v\nwant\n%v", paths, want)
	}
	if v.Slice[0].N != 1 {
		t.Error("the value itself was changed")
	}
}

// Generated code is stale after its descriptor has changed, except for the line ends.
func TestStale(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(text string) {
		if err := os.WriteFile("resource.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := Plugin{Descriptor: "resource.yaml", Sum: "0dfb36c296d1377c"}
	if err := p.stale(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a descriptor: %v; want an error that says so", err)
	}
	write("version: v1\r\n")
	if err := p.stale(); err != nil {
		t.Errorf("unchanged: %v", err)
	}
	write("version: v2\n")
	if err := p.stale(); err == nil || !strings.HasSuffix(err.Error(), "run go generate") {
		t.Errorf("changed: %v; want an error that names the command", err)
	}
}

// changes changes every number.
func TestChangeOfNumbers(t *testing.T) {
	for _, n := range []float64{0, 1, 2, -2, math.MaxFloat64, math.Inf(1), math.NaN()} {
		if got := changes(reflect.ValueOf(n), "n"); len(got) != 1 || got[0].value.Float() == n {
			t.Errorf("%v became %v", n, got)
		}
	}
}

// demanding is an update with a hand-written type. Its Equal panics for values that no hook
// creates.
type demanding struct {
	resource.Update
	Pattern pattern
}

type pattern struct{ *regexp.Regexp }

func (d *demanding) Equal(o *demanding) bool {
	if d == nil || o == nil {
		return d == o
	}
	return d.Pattern.String() == o.Pattern.String()
}

func TestDemandingEqual(t *testing.T) {
	p := pattern{regexp.MustCompile("a.*")}
	testEqual(t, &demanding{Pattern: p}, &demanding{Pattern: p})
}

func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		err  error
		want []string
	}{
		{nil, []string{"ok"}},
		{errors.New("one\ntwo"), []string{"one", "two"}},
		{&resource.ValidationError{Violations: []resource.Violation{{Path: "a", Rule: "b"}, {Path: "c", Value: "d", Rule: "e"}}}, []string{"a; b", "c = d; e"}},
	} {
		if got := verdict(test.err); !slices.Equal(got, test.want) {
			t.Errorf("verdict(%v) = %q; want %q", test.err, got, test.want)
		}
	}
}

// Decode uses the given name, or else the name in the message.
func TestDecode(t *testing.T) {
	d := opaqueType("envoy.config.core.v3.Node")
	typ := d.Handle()
	if _, err := Decode(t, typ, "", &corev3.Node{}); err == nil {
		t.Error("a message without a name was decoded without one")
	}
	u, err := Decode(t, typ, "given", &corev3.Node{Id: "own"})
	if err != nil || u.Name().String() != "given" {
		t.Errorf("Decode = %v, %v; want the given name", u, err)
	}
	d.PeekName = func(body []byte) (string, error) { return wire.PeekString(body, 1) }
	u, err = Decode(t, typ, "", &corev3.Node{Id: "own"})
	if err != nil || u.Name().String() != "own" || u.Server() == nil || u.Version() == "" {
		t.Errorf("Decode = %v, %v; want the message's name, a server and a version", u, err)
	}
	if _, err := Decode(t, typ, "", &corev3.Node{}); err == nil {
		t.Error("a resource without a name was decoded")
	}
}

// A hand-written type passes too.
func TestHandWritten(t *testing.T) {
	Run(t, Plugin{
		Type: resource.Define(resource.Spec[resource.Update]{
			Name:     "envoy.config.core.v3.Node",
			PeekName: func(body []byte) (string, error) { return wire.PeekString(body, 1) },
			Decode:   opaqueType("envoy.config.core.v3.Node").Decode,
			NewShard: func() resource.Shard { return runtime.NewShard[*opaque]() },
		}),
		Message:   func() proto.Message { return new(corev3.Node) },
		NameField: "id",
	})
}

// An unlike update is equal to itself only.
type unlike struct{ resource.Meta }

func (u *unlike) Equal(o *unlike) bool { return u == o }

// failures counts the errors of a test.
type failures struct {
	testing.TB
	n int
}

func (f *failures) Errorf(string, ...any) { f.n++ }

// Repeat finds updates that are not equal and verdicts that change, in each profile.
func TestRepeat(t *testing.T) {
	decodes := 0
	for name, decode := range map[string]func(dc *resource.DecodeContext, body []byte) (resource.Update, error){
		"compares pointers": func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
			return &unlike{dc.Meta(body)}, nil
		},
		"counts its decodes": func(*resource.DecodeContext, []byte) (resource.Update, error) {
			decodes++
			return nil, fmt.Errorf("decode %d", decodes)
		},
	} {
		d := opaqueType("envoy.config.core.v3.Node")
		d.Decode = decode
		set, err := resource.NewSet(d)
		if err != nil {
			t.Fatal(err)
		}
		n, err := xdstp.Parse("n")
		if err != nil {
			t.Fatal(err)
		}
		f := &failures{TB: t}
		Repeat(f, d.Handle(), &resource.DecodeContext{Name: n, Types: set}, nil)
		if f.n != 3 {
			t.Errorf("a decoder that %s fails %d times, want once in each of 3 profiles", name, f.n)
		}
	}
}
