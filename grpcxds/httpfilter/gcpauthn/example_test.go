package gcpauthn_test

import (
	"context"
	"fmt"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/gcpauthn"
)

// By default, tokens come from the metadata server of the virtual machine. This program has its own source.
func ExampleFilter() {
	config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "xds.example:443", "channel_creds": [{"type": "insecure"}]}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	source := func(_ context.Context, audience string) (gcpauthn.Token, error) {
		return gcpauthn.Token{Value: "token for " + audience, Expiry: time.Now().Add(time.Hour)}, nil
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(
		func(r xdsforge.Registrar) { r.Extend(gcpauthn.Filter(source)) },
		grpcxds.Register,
	))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer env.Close()
	_, known := env.Types().HTTPFilter("envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig")
	fmt.Println(known)
	// Output: true
}
