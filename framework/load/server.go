package load

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
)

// ErrServerNotInBootstrap means that the load report's server is not in the bootstrap, by name,
// credentials and features (gRFC A47). Without this check, the author of a service config could
// make the client send credentials to any server.
var ErrServerNotInBootstrap = errors.New("the server is not in the bootstrap")

// CheckServer returns ErrServerNotInBootstrap if load must not be reported to a server.
func CheckServer(config *bootstrap.Config, server *bootstrap.Server) error {
	if config.HasServer(server) {
		return nil
	}
	name := "nil"
	if server != nil {
		name = server.String()
	}
	return fmt.Errorf("lrs: server = %s; %w (gRFC A47)", name, ErrServerNotInBootstrap)
}

// The names of gRFC A47's field in the configurations of the LB policies xds_cluster_resolver and
// xds_cluster_impl: the original name, and the JSON name of protobuf.
const (
	serverField      = "lrs_load_reporting_server"
	serverFieldCamel = "lrsLoadReportingServer"
)

// ParseServer reads the field lrs_load_reporting_server from the JSON configuration of an LB policy
// (gRFC A47). It uses the options that the bootstrap was read with: see
// [bootstrap.Config.ParseServer]. It returns nil if the field is absent, which means that load
// reporting is off. It returns ErrServerNotInBootstrap for a server that is not in the bootstrap.
func ParseServer(config *bootstrap.Config, policy []byte) (*bootstrap.Server, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(policy, &fields); err != nil {
		return nil, fmt.Errorf("lrs: the configuration of the LB policy: %w", err)
	}
	raw, camel := fields[serverField], fields[serverFieldCamel]
	switch {
	case raw != nil && camel != nil:
		return nil, fmt.Errorf("lrs: %s is there twice, also as %s; must be there once", serverField, serverFieldCamel)
	case raw == nil:
		raw = camel
	}
	if raw == nil || string(raw) == "null" {
		return nil, nil //nolint:nilnil // it is how absence is told: no server, no error
	}
	server, err := config.ParseServer(raw)
	if err != nil {
		return nil, fmt.Errorf("lrs: %s: %w", serverField, err)
	}
	if err := CheckServer(config, server); err != nil {
		return nil, fmt.Errorf("%s: %w", serverField, err)
	}
	return server, nil
}
