// Command http is an HTTP server and an HTTP client that the resources in a folder configure. With a
// control plane in bootstrap.json instead, not a line changes.
//
//	GRPC_XDS_BOOTSTRAP=bootstrap.json go run .
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	"github.com/xdsforge/xdsforge/httpxds"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	mux := http.NewServeMux()
	mux.HandleFunc("/carts", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the handler of /carts") })
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "secrets") })
	serving := make(chan error, 1)
	s, err := httpxds.NewServer(mux, httpxds.OnMode(func(_ net.Addr, err error) { serving <- err }))
	if err != nil {
		return err
	}
	defer s.Close()
	lis, err := net.Listen("tcp4", "127.0.0.1:8080")
	if err != nil {
		return err
	}
	go func() { _ = s.Serve(lis) }()  // until Close
	if err := <-serving; err != nil { // the reason for not serving
		return err
	}

	transport, err := httpxds.NewTransport("xds:///shop")
	if err != nil {
		return err
	}
	defer transport.Close()
	client := &http.Client{Transport: transport}
	for _, path := range []string{"/api/carts", "/api/metrics", "/carts"} {
		response, err := client.Get("http://shop" + path)
		if err != nil {
			fmt.Println(err)
			continue
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		fmt.Printf("%s: %s, %s", path, response.Status, body)
	}
	return nil
}
