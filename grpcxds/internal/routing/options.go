package routing

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// withOptions returns the options of a call with those of its filters. gRPC uses only the last call credentials, so that
// those of the program and of each filter become one.
func withOptions(opts, added []grpc.CallOption) []grpc.CallOption {
	if len(added) == 0 {
		return opts
	}
	all := slices.Concat(opts, added)
	both := make(jointCredentials, 0, 2)
	for i, o := range all {
		c, ok := o.(grpc.PerRPCCredsCallOption)
		switch {
		case !ok || c.Creds == nil:
		case i < len(opts):
			both = append(both[:0], c.Creds)
		default:
			both = append(both, c.Creds)
		}
	}
	if len(both) > 1 {
		all = append(all, grpc.PerRPCCredentials(both))
	}
	return all
}

// defaultReceive is gRPC's limit of a message that a client receives.
const defaultReceive = 4 << 20

// receiveLimit returns the limit of a message that a call receives. gRPC passes the default options of the channel, too.
func receiveLimit(opts []grpc.CallOption) int {
	n := defaultReceive
	for _, o := range opts {
		if m, ok := o.(grpc.MaxRecvMsgSizeCallOption); ok {
			n = m.MaxRecvMsgSize
		}
	}
	return n
}

// jointCredentials are the call credentials of several parties. Later ones replace headers of earlier ones.
type jointCredentials []credentials.PerRPCCredentials

// GetRequestMetadata implements [credentials.PerRPCCredentials].
func (j jointCredentials) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	all := make(map[string]string)
	for _, c := range j {
		md, err := c.GetRequestMetadata(ctx, uri...)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, md)
	}
	return all, nil
}

// RequireTransportSecurity implements [credentials.PerRPCCredentials].
func (j jointCredentials) RequireTransportSecurity() bool {
	return slices.ContainsFunc(j, credentials.PerRPCCredentials.RequireTransportSecurity)
}
