package grpcxds

import (
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// BenchmarkServerCall measures a unary call, client included. The differences come from the
// servers.
func BenchmarkServerCall(b *testing.B) {
	const allow = `http_filters { name: "rbac" typed_config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] {
		rules { action: ALLOW policies { key: "all" value { permissions { url_path { path { prefix: "/grpc.testing." } } } principals { any: true } } } } } } }`
	for name, serve := range map[string]func(w *world) *site{
		"plain": func(w *world) *site { return w.servePlain() },
		"routes": func(w *world) *site {
			s := w.serve()
			w.publishListener(s.listener(rds("routes")))
			return s
		},
		"RBAC": func(w *world) *site {
			s := w.serve()
			w.publishListener(s.listener(allow + rds("routes")))
			return s
		},
		"grpc-go, routes": func(w *world) *site {
			s := w.serveGRPC(w.config)
			w.publishListener(s.listener(rds("routes")))
			return s
		},
		"grpc-go, RBAC": func(w *world) *site {
			s := w.serveGRPC(w.config)
			w.publishListener(s.listener(allow + rds("routes")))
			return s
		},
	} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b)
			w.publishRoutes("routes", allHosts)
			s := serve(w)
			s.awaitServing()
			c := s.dial()
			if st := s.call(c); st.Code() != codes.OK {
				b.Fatal(st)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.EmptyCall(b.Context(), &testpb.Empty{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// servePlain runs a gRPC server without xDS.
func (w *world) servePlain() *site {
	w.Helper()
	lis, err := (&net.ListenConfig{}).Listen(w.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	s := &site{world: w, addr: lis.Addr().String(), events: make(chan event, 1)}
	s.events <- event{Serving, nil}
	server := grpc.NewServer()
	testpb.RegisterTestServiceServer(server, echo{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	w.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			w.Errorf("Serve: %v", err)
		}
	})
	return s
}
