package bootstrap

import (
	"os"
	"slices"
	"strings"
)

// The environment variables that this package reads when it loads a configuration.
const (
	// EnvFile is the path of the bootstrap file (gRFC A27).
	EnvFile = "GRPC_XDS_BOOTSTRAP"
	// EnvContent is the content of a bootstrap file. It is used if EnvFile is not set.
	EnvContent = "GRPC_XDS_BOOTSTRAP_CONFIG"
)

// envFederation is the environment variable that switches federation off if it is exactly
// "false" (gRFC A47).
const envFederation = "GRPC_EXPERIMENTAL_XDS_FEDERATION"

// Option changes how a configuration is read.
type Option interface {
	apply(*options)
}

type options struct {
	federation   bool
	channelCreds []string
	callCreds    []string
}

// channelTypes returns the supported types of channel credentials for people.
func (o options) channelTypes() string {
	return strings.Join(slices.Sorted(slices.Values(o.channelCreds)), ", ")
}

type optionFunc func(*options)

func (f optionFunc) apply(o *options) { f(o) }

// newOptions returns the defaults, changed by opts in their order.
func newOptions(opts []Option) options {
	o := options{
		federation:   os.Getenv(envFederation) != "false",
		channelCreds: []string{"insecure", "tls", "google_default"},
		callCreds:    []string{"jwt_token_file"},
	}
	for _, opt := range opts {
		opt.apply(&o)
	}
	return o
}

// WithFederation switches gRFC A47 on or off and overrides GRPC_EXPERIMENTAL_XDS_FEDERATION. It has
// no effect on a single server entry.
func WithFederation(on bool) Option {
	return optionFunc(func(o *options) { o.federation = on })
}

// WithChannelCreds sets the types of channel credentials that the program supports. They replace
// the default: "insecure" and "google_default" (gRFC A27), and "tls" (A65). Their order does not
// matter; the order in the bootstrap decides.
func WithChannelCreds(types ...string) Option {
	types = slices.Clone(types)
	return optionFunc(func(o *options) { o.channelCreds = types })
}

// WithCallCreds sets the types of call credentials that the program supports. They replace the
// default: "jwt_token_file" (gRFC A97). Call credentials of other types are ignored.
func WithCallCreds(types ...string) Option {
	types = slices.Clone(types)
	return optionFunc(func(o *options) { o.callCreds = types })
}
