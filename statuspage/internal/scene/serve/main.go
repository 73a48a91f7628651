// Command serve serves the status page of a scene, for tests with a browser. It prints the address of the
// page. Each line of its input is a step of the scene; it prints "done" after each. It ends with its input.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"

	"github.com/xdsforge/xdsforge/internal/webguard"
	"github.com/xdsforge/xdsforge/statuspage"
	"github.com/xdsforge/xdsforge/statuspage/internal/scene"
)

func main() {
	resources := flag.Int("resources", 300, "resources of the client \"catalogue\"")
	addr := flag.String("addr", "127.0.0.1:0", "address of the page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *resources, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

func run(ctx context.Context, resources int, addr string) (err error) {
	s, err := scene.Start(ctx, resources)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/xds/", statuspage.Config{CSDS: "localhost:5555"}.Handler(s.Env))
	server := webguard.NewServer(mux)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	done := make(chan error, 1)
	go func() { done <- server.Serve(lis) }()
	fmt.Printf("http://%s/debug/xds/\n", lis.Addr())
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- in.Text()
		}
	}()
	for line := range lines {
		if err := s.Play(ctx, line); err != nil {
			return errors.Join(err, server.Close())
		}
		fmt.Println("done")
	}
	return server.Close()
}
