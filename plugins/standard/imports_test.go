package standard_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Packages of resource types link neither gRPC nor a client into a program, although they can publish.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/xdsforge/xdsforge"
	found := false
	for path := range strings.FieldsSeq(string(out)) {
		found = found || path == module+"/publish"
		for _, heavy := range []string{"google.golang.org/grpc", module + "/framework/client", module + "/serve", "net/http"} {
			if path == heavy || strings.HasPrefix(path, heavy+"/") {
				t.Errorf("the resource types import %s", path)
			}
		}
	}
	if !found {
		t.Errorf("the imports lack %s/publish:\n%s", module, out)
	}
}
