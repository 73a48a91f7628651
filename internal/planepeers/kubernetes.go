package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// A kubernetes is an API server of an empty cluster. Each list is empty, no object exists, no watch has events, and writes are
// forbidden. istiod does not start without a cluster, even if it takes its configuration from files.
type kubernetes struct {
	server *http.Server
	addr   string
}

// startKubernetes starts the API server.
func startKubernetes(ctx context.Context) (*kubernetes, error) {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	k := &kubernetes{&http.Server{Handler: http.HandlerFunc(emptyCluster), ReadHeaderTimeout: time.Minute}, lis.Addr().String()}
	go func() { _ = k.server.Serve(lis) }() // it ends with stop
	return k, nil
}

func (k *kubernetes) stop() { _ = k.server.Close() }

// config writes the file with which a program finds the API server.
func (k *kubernetes) config(file string) error {
	return os.WriteFile(file, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: empty
contexts: [{name: empty, context: {cluster: empty, user: nobody}}]
clusters: [{name: empty, cluster: {server: "http://%s"}}]
users: [{name: nobody, user: {}}]
`, k.addr), 0o600)
}

// emptyCluster answers a request.
func emptyCluster(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case r.Method != http.MethodGet:
		failure(w, http.StatusForbidden, "Forbidden")
	case r.URL.Path == "/version":
		fmt.Fprint(w, `{"major": "1", "minor": "34", "gitVersion": "v1.34.0"}`)
	case query.Get("sendInitialEvents") != "":
		failure(w, http.StatusUnprocessableEntity, "Invalid") // the client lists, and then watches
	case query.Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // the client has gone otherwise
		<-r.Context().Done()
	case named(r.URL.Path):
		failure(w, http.StatusNotFound, "NotFound")
	case strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList"):
		fmt.Fprint(w, `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "1"}, "items": []}`)
	default:
		fmt.Fprint(w, `{"metadata": {"resourceVersion": "1"}, "items": []}`)
	}
}

func failure(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": %q, "code": %d}`, reason, code)
}

// named reports whether a path names one object, as in /api/v1/namespaces/NAMESPACE/pods/NAME.
func named(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := 2 // "api", version
	if parts[0] == "apis" {
		group = 3 // "apis", group, version
	}
	rest := parts[min(group, len(parts)):]
	if len(rest) > 2 && rest[0] == "namespaces" {
		rest = rest[2:]
	}
	return len(rest) == 2
}
