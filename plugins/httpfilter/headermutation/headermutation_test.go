package headermutation

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// The filter rejects changes that it does not support.
func TestRejections(t *testing.T) {
	for text, want := range map[string]string{
		`{"mutations": {"request_mutations": [{}]}}`:                                                           "mutations.request_mutations[0]; must have one of remove, append set",
		`{"mutations": {"response_mutations": [{"append": {"header": {"key": "x-a", "value": "%REQ(x)%"}}}]}}`: "mutations.response_mutations[0].append.header.value = \"%REQ(x)%\"; must have no substitution commands, which are not supported; write %% for a percent sign",
		`{"mutations": {"request_mutations": [{"remove": ":path"}]}}`:                                          "mutations.request_mutations[0].remove = \":path\"; must be the name of a header, with at most 16384 bytes",
		`{"mutations": {"query_parameter_mutations": [{}]}}`:                                                   "mutations.query_parameter_mutations; must not be set, because it is not supported",
		`{"mutations": {"response_trailers_mutations": [{"remove": "x"}]}}`:                                    "mutations.response_trailers_mutations; must not be set, because it is not supported",
	} {
		fields := new(structpb.Struct)
		if err := fields.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		f := Filter()
		if _, err := f.ParseOverride(nil, resource.TypedConfig{Message: f.Override, Fields: fields}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
