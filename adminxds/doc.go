// Package adminxds registers the services by which operators look into a gRPC program. CSDS shows the
// state of xDS clients (gRFC A40), channelz shows channels and connections (gRFC A14), and health shows
// whether the program serves.
//
//	s := grpc.NewServer()
//	err := adminxds.Register(s) // the clients of all environments of the process
//	…
//	go s.Serve(loopback)
//
// grpcdebug and grpc_health_probe read these services. They show configurations, addresses and
// method names. Serve them where only operators can reach them, such as on loopback.
//
// # Beside grpc-go's own xDS
//
// Use Register in place of google.golang.org/grpc/admin.Register (gRFC A38). Both register channelz
// and CSDS, and a gRPC server can have each service once: grpc-go ends the process at the second
// registration. Register never calls package admin, so it works in a program that links
// google.golang.org/grpc/xds, although that package adds its own CSDS to admin. A program with both
// can register one of them on each of two gRPC servers, or show all clients by one service:
//
//	theirs, err := grpccsds.NewClientStatusDiscoveryServer() // google.golang.org/grpc/xds/csds
//	…
//	err = adminxds.Config{CSDS: csds.Config{
//		Others: []statusv3.ClientStatusDiscoveryServiceServer{theirs},
//	}}.Register(s)
package adminxds
