// Package grpcservice reads the gRPC services that resources name (gRFC A102), such as the authorization server of the
// HTTP filter ext_authz. A channel or server calls such a service beside its own calls.
//
// A control plane that names a service could read the calls of the program, or steal its tokens. [Read] therefore
// accepts a service in two cases. If the server that sent the resource has the feature trusted_xds_server, the resource
// chooses target and credentials. Otherwise the bootstrap must have the target in allowed_grpc_services, and the
// bootstrap chooses the credentials.
//
// An HTTP filter gets the channel of a service by the function Channel of its host.
package grpcservice
