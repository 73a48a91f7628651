package httpxds_test

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/httpxds"
)

// The bootstrap must have control planes for the target. If the environment variables name a bootstrap, WithEnv is not
// needed.
func ExampleNewTransport() {
	config, err := bootstrap.Parse([]byte(`{
		"xds_servers": [{"server_uri": "xds.example:443", "channel_creds": [{"type": "insecure"}]}],
		"authorities": {"east.example": {}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(httpxds.Register))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer env.Close()
	transport, err := httpxds.NewTransport("xds://east.example/checkout", httpxds.WithEnv(env))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer transport.Close()
	client := &http.Client{Transport: transport} // requests to any host go to the target
	fmt.Println(client.Transport == transport)

	_, err = httpxds.NewTransport("xds://nowhere.example/checkout", httpxds.WithEnv(env))
	fmt.Println(errors.Is(err, bootstrap.ErrUnknownAuthority))
	// Output:
	// true
	// true
}
