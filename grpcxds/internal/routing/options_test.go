package routing

import (
	"context"
	"errors"
	"maps"
	"testing"

	"google.golang.org/grpc"
)

// tokens are call credentials with these headers.
type tokens struct {
	headers map[string]string
	secure  bool
	err     error
}

// GetRequestMetadata implements [credentials.PerRPCCredentials].
func (c tokens) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return c.headers, c.err
}

// RequireTransportSecurity implements [credentials.PerRPCCredentials].
func (c tokens) RequireTransportSecurity() bool { return c.secure }

// TestCallCredentials expects the call credentials of the program and those of filters to apply together. gRPC uses only the
// last option with credentials.
func TestCallCredentials(t *testing.T) {
	broken := errors.New("broken")
	option := func(c tokens) grpc.CallOption { return grpc.PerRPCCredentials(c) }
	plain := grpc.WaitForReady(true)
	first, second := option(tokens{headers: map[string]string{"a": "1", "b": "1"}}), option(tokens{headers: map[string]string{"b": "2", "c": "2"}, secure: true})
	for _, tt := range []struct {
		why         string
		opts, added []grpc.CallOption
		count       int // of the resulting options
		headers     map[string]string
		secure      bool
		err         error
	}{
		{"no filter", []grpc.CallOption{first, second}, nil, 2, map[string]string{"b": "2", "c": "2"}, true, nil},
		{"a filter without credentials", []grpc.CallOption{first}, []grpc.CallOption{plain}, 2, map[string]string{"a": "1", "b": "1"}, false, nil},
		{"only a filter", []grpc.CallOption{plain}, []grpc.CallOption{first}, 2, map[string]string{"a": "1", "b": "1"}, false, nil},
		{"the program and a filter", []grpc.CallOption{first}, []grpc.CallOption{plain, second}, 4, map[string]string{"a": "1", "b": "2", "c": "2"}, true, nil},
		{"the last of the program and a filter", []grpc.CallOption{second, first}, []grpc.CallOption{second}, 4, map[string]string{"a": "1", "b": "2", "c": "2"}, true, nil},
		{"the last of the program, and a filter without credentials", []grpc.CallOption{second, first}, []grpc.CallOption{plain}, 3, map[string]string{"a": "1", "b": "1"}, false, nil},
		{"two filters", nil, []grpc.CallOption{second, first}, 3, map[string]string{"a": "1", "b": "1", "c": "2"}, true, nil},
		{"an option without credentials", []grpc.CallOption{first}, []grpc.CallOption{second, grpc.PerRPCCredentials(nil)}, 4, map[string]string{"a": "1", "b": "2", "c": "2"}, true, nil},
		{"an error", []grpc.CallOption{first}, []grpc.CallOption{option(tokens{err: broken})}, 3, nil, false, broken},
	} {
		all := withOptions(tt.opts, tt.added)
		var last grpc.PerRPCCredsCallOption
		for _, o := range all {
			if c, ok := o.(grpc.PerRPCCredsCallOption); ok {
				last = c
			}
		}
		headers, err := last.Creds.GetRequestMetadata(t.Context())
		if len(all) != tt.count || !maps.Equal(headers, tt.headers) || last.Creds.RequireTransportSecurity() != tt.secure || !errors.Is(err, tt.err) {
			t.Errorf("%s: %d options with the headers %v, secure %t, %v; want %d, %v, %t, %v",
				tt.why, len(all), headers, last.Creds.RequireTransportSecurity(), err, tt.count, tt.headers, tt.secure, tt.err)
		}
	}
}
