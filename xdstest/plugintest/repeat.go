package plugintest

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// Repeat decodes a resource twice in each profile, with the types of the context. The verdicts must be the same, and the
// updates must be equal if they have the method Equal: clients compare updates of different servers. If the context has no
// name, the resource has the name in its bytes.
func Repeat(t testing.TB, typ resource.Type, dc *resource.DecodeContext, body []byte) {
	t.Helper()
	d, named := resource.Describe(typ), *dc
	if named.Name.IsZero() {
		var err error
		if named.Name, err = resourceName(d, "", body); err != nil {
			return // no decoder is called for it
		}
	}
	for _, p := range []resource.Profile{resource.GRPC, resource.HTTP, resource.Envoy} {
		types, err := dc.Types.Extend(p)
		if err != nil {
			t.Fatal(err)
		}
		named.Types = types
		once := func() (resource.Update, error) {
			context := named
			return d.Decode(&context, bytes.Clone(body))
		}
		u, err := once()
		again, second := once()
		switch diff := difference(verdict(err), verdict(second)); {
		case diff != "":
			t.Errorf("profile %v: verdicts of the same bytes (-first +second):\n%s", p, diff)
		case err == nil && (!equal(u, again) || !equal(again, u)):
			t.Errorf("profile %v: two decodes of the same bytes are not equal:\n%v\n%v", p, u, again)
		}
	}
}

// equal calls the method Equal of an update. Updates without it are equal.
func equal(a, b resource.Update) bool {
	method := reflect.ValueOf(a).MethodByName("Equal")
	return !method.IsValid() || method.Call([]reflect.Value{reflect.ValueOf(b)})[0].Bool()
}
