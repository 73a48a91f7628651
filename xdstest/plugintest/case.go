package plugintest

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	_ "github.com/cncf/xds/go/udpa/type/v1" // so that cases may have either TypedStruct in an Any
	_ "github.com/cncf/xds/go/xds/type/v3"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A testCase is one file of testdata.
type testCase struct {
	file    string
	name    string
	message proto.Message
	body    []byte
	want    []string // "ok", or violations
	refs    []string
	hasRefs bool
}

// readCase reads a file of testdata.
func (k *kit) readCase(t *testing.T, file string) *testCase {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &testCase{file: file, message: k.Message()}
	for _, f := range archive.Files {
		switch f.Name {
		case "resource.json":
			if err := protojson.Unmarshal(f.Data, c.message); err != nil {
				t.Fatalf("resource.json: %v", err)
			}
		case "name":
			c.name = strings.TrimSpace(string(f.Data))
		case "want":
			c.want = lines(f.Data)
		case "refs":
			c.refs, c.hasRefs = lines(f.Data), true
		default:
			t.Fatalf("unknown file %q; must be resource.json, name, want or refs", f.Name)
		}
	}
	if len(c.want) == 0 && !k.update {
		t.Fatal("the file want is empty; must be ok or violations")
	}
	if c.body, err = (proto.MarshalOptions{Deterministic: true}).Marshal(c.message); err != nil {
		t.Fatal(err)
	}
	return c
}

func lines(data []byte) []string {
	if s := strings.TrimSpace(string(data)); s != "" {
		return strings.Split(s, "\n")
	}
	return nil
}

// testVerdict decodes a case and compares the result.
func (k *kit) testVerdict(t *testing.T, c *testCase) {
	t.Helper()
	before := bytes.Clone(c.body)
	u, err := k.decode(c.name, c.body)
	if !bytes.Equal(before, c.body) {
		t.Error("the decoder changed the bytes that it was given")
	}
	if k.update {
		c.want = verdict(err)
		rewrite(t, c)
	}
	if diff := difference(c.want, verdict(err)); diff != "" {
		t.Fatalf("verdict (-want +got):\n%s", diff)
	}
	if err != nil {
		return
	}
	if c.hasRefs {
		var refs []string
		for r := range u.Refs() {
			refs = append(refs, r.String())
		}
		if diff := difference(c.refs, refs); diff != "" {
			t.Errorf("refs (-want +got):\n%s", diff)
		}
	}
	k.testUpdate(t, c, u)
}

// testProfiles decodes a case twice in each profile.
func (k *kit) testProfiles(t *testing.T, c *testCase) {
	t.Helper()
	dc := &resource.DecodeContext{Version: version, Server: k.server, Types: k.types}
	if c.name != "" {
		n, err := resourceName(k.typ, c.name, c.body)
		if err != nil {
			return // testVerdict shows it
		}
		dc.Name = n
	}
	Repeat(t, k.Type, dc, c.body)
}

// rewrite writes a file of testdata with another want.
func rewrite(t *testing.T, c *testCase) {
	t.Helper()
	archive, err := txtar.ParseFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	want := txtar.File{Name: "want", Data: []byte(strings.Join(c.want, "\n") + "\n")}
	if i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" }); i >= 0 {
		archive.Files[i] = want
	} else {
		archive.Files = append(archive.Files, want)
	}
	if err := os.WriteFile(c.file, txtar.Format(archive), 0o644); err != nil { //nolint:gosec // source code
		t.Fatal(err)
	}
}

// verdict formats an error as in the file want.
func verdict(err error) []string {
	if err == nil {
		return []string{"ok"}
	}
	var invalid *resource.ValidationError
	if !errors.As(err, &invalid) {
		return strings.Split(err.Error(), "\n")
	}
	var out []string
	for _, v := range invalid.Violations {
		out = append(out, v.String())
	}
	return out
}

// difference describes how two lists of lines differ. It is empty if they are equal.
func difference(want, got []string) string {
	if slices.Equal(want, got) {
		return ""
	}
	first, last := 0, 0 // numbers of equal lines at the start and at the end
	shorter := min(len(want), len(got))
	for first < shorter && want[first] == got[first] {
		first++
	}
	for last < shorter-first && want[len(want)-1-last] == got[len(got)-1-last] {
		last++
	}
	var out strings.Builder
	add := func(sign string, lines []string) {
		for _, line := range lines {
			out.WriteString(sign + " " + line + "\n")
		}
	}
	add(" ", want[:first])
	add("-", want[first:len(want)-last])
	add("+", got[first:len(got)-last])
	add(" ", want[len(want)-last:])
	return out.String()
}

// testUpdate checks the laws of an update.
func (k *kit) testUpdate(t *testing.T, c *testCase, u resource.Update) {
	t.Helper()
	if !bytes.Equal(u.Raw(), c.body) {
		t.Errorf("Raw() = %x; the bytes were %x", u.Raw(), c.body)
	}
	if u.Version() != version || u.Server() != k.server {
		t.Errorf("Version() = %q, Server() = %v; must be those of the context", u.Version(), u.Server())
	}
	if u.Name().IsZero() {
		t.Error("the update has no name")
	}
	if first, second := slices.Collect(u.Refs()), slices.Collect(u.Refs()); !slices.Equal(first, second) {
		t.Errorf("Refs() yields %v, and then %v", first, second)
	}
	k.testProto(t, c, u)
	again, err := k.decode(c.name, bytes.Clone(c.body))
	if err != nil {
		t.Fatalf("decoding again: %v", err)
	}
	testEqual(t, u, again)
	k.testPrinted(t, u, again)
	testLiterals(t, u)
}

// testProto compares the message that the update returns, if it has the method of generated updates.
func (k *kit) testProto(t *testing.T, c *testCase, u resource.Update) {
	t.Helper()
	method := reflect.ValueOf(u).MethodByName("Proto")
	if !method.IsValid() {
		return
	}
	out := method.Call(nil)
	if len(out) != 2 || !out[1].IsNil() {
		t.Fatalf("Proto() returns %v; must return the message and no error", out)
	}
	if m, ok := reflect.TypeAssert[proto.Message](out[0]); !ok || !proto.Equal(m, c.message) {
		t.Errorf("Proto() = %v; the message was %v", out[0], c.message)
	}
}
