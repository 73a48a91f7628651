package grpctransport

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/google"
	"google.golang.org/grpc/credentials/oauth"
)

// cloudPlatform is the scope of google_default credentials.
const cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"

// newGoogleDefault returns google_default channel credentials. They look for the application's
// default credentials when a stream needs them, because that may use the network, and Dial must
// not.
func newGoogleDefault() credentials.Bundle {
	return google.NewDefaultCredentialsWithOptions(google.DefaultCredentialsOptions{PerRPCCreds: new(applicationDefault)})
}

// applicationDefault holds the application's default credentials once they are found.
type applicationDefault struct {
	mu    sync.Mutex
	found credentials.PerRPCCredentials
}

// GetRequestMetadata implements [credentials.PerRPCCredentials].
func (a *applicationDefault) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	found, err := a.find(ctx)
	if err != nil {
		return nil, err
	}
	return found.GetRequestMetadata(ctx, uri...)
}

// RequireTransportSecurity implements [credentials.PerRPCCredentials].
func (*applicationDefault) RequireTransportSecurity() bool { return true }

func (a *applicationDefault) find(ctx context.Context) (credentials.PerRPCCredentials, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.found != nil {
		return a.found, nil
	}
	// The credentials fetch tokens with this context, long after this stream.
	found, err := oauth.NewApplicationDefault(context.WithoutCancel(ctx), cloudPlatform)
	if err != nil {
		return nil, fmt.Errorf("grpctransport: google_default: %w", err)
	}
	a.found = found
	return found, nil
}
