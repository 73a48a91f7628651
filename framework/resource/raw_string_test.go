package resource_test

import (
	"fmt"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// The text of a raw update does not contain its message.
func TestRawString(t *testing.T) {
	body, err := proto.Marshal(&corev3.Node{Id: "hunter2"})
	if err != nil {
		t.Fatal(err)
	}
	u, err := resource.Raw((*corev3.Node).GetId).Decode(&resource.DecodeContext{Version: "7"}, body)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%+v", u); strings.Contains(got, "hunter2") || !strings.Contains(got, `version "7" {9 bytes}`) {
		t.Errorf("the update prints as %s", got)
	}
	if got := u.LogValue().String(); strings.Contains(got, "hunter2") || !strings.Contains(got, "version=7") {
		t.Errorf("the update is logged as %s", got)
	}
}

// A raw update that no decoder created has zero values.
func TestRawLiterals(t *testing.T) {
	var none *resource.RawUpdate[*corev3.Node]
	for _, u := range []*resource.RawUpdate[*corev3.Node]{none, new(resource.RawUpdate[*corev3.Node])} {
		if u.Name().String() != "" || u.Version() != "" || len(u.Raw()) > 0 || u.Server() != nil {
			t.Errorf("the update has the name %q, version %q, %d bytes and server %v", u.Name(), u.Version(), len(u.Raw()), u.Server())
		}
		for ref := range u.Refs() {
			t.Errorf("the update refers to %v", ref)
		}
		if text := u.LogValue().String(); text == "" {
			t.Error("the update is logged as nothing")
		}
	}
	if got := none.String(); got != "<nil>" || none.Message() != nil {
		t.Errorf("a nil update prints as %s", got)
	}
}
