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
	var none *resource.RawUpdate[*corev3.Node]
	if got := none.String(); got != "<nil>" || none.Message() != nil {
		t.Errorf("a nil update prints as %s", got)
	}
}
