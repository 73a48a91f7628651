// Command servepeers serves clients of other projects: the channels of grpc-go, grpc-js and gRPC C++,
// go-control-plane's client, and a client that checks each response by the rules of both variants of the
// protocol. With each of them, it changes resources, sends an invalid one, and restarts the server.
//
// grpc-js is installed by npm, and the program in C++ is compiled with the libraries of the system. Both
// are created in a temporary folder. The tests of this package run the clients in Go only.
package main
