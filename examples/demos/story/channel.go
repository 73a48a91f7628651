package story

import (
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
)

// A Channel is a gRPC channel with an Env of its own.
type Channel struct {
	*grpc.ClientConn
	env *xdsforge.Env
}

// Dial creates a channel with the content of a bootstrap file. A program usually has a file that GRPC_XDS_BOOTSTRAP names.
// Without a Dialer, grpcxds.NewClient reads that file.
func Dial(target string, bootstrapFile []byte) (*Channel, error) {
	config, err := bootstrap.Parse(bootstrapFile)
	if err != nil {
		return nil, err
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(grpcxds.Register))
	if err != nil {
		return nil, err
	}
	cc, err := grpcxds.Dialer{Env: env}.NewClient(target, grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, errors.Join(err, env.Close())
	}
	return &Channel{cc, env}, nil
}

// Close closes the channel and its Env.
func (c *Channel) Close() error { return errors.Join(c.ClientConn.Close(), c.env.Close()) }
