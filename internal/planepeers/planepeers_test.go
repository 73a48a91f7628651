package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An empty cluster has empty lists, no objects, and takes no writes.
func TestEmptyCluster(t *testing.T) {
	for _, c := range []struct {
		method, path, accept string
		code                 int
		body                 string // a part
	}{
		{http.MethodGet, "/version", "", 200, `"minor": "34"`},
		{http.MethodGet, "/api/v1/pods?limit=500", "", 200, `"items": []`},
		{http.MethodGet, "/api/v1/namespaces/istio-system/configmaps", "", 200, `"items": []`},
		{http.MethodGet, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json;as=PartialObjectMetadataList", 200, `"kind": "PartialObjectMetadataList"`},
		{http.MethodGet, "/api/v1/pods?watch=true&sendInitialEvents=true", "", 422, `"Invalid"`},
		{http.MethodGet, "/api/v1/namespaces/istio-system", "", 404, `"NotFound"`},
		{http.MethodGet, "/api/v1/namespaces/istio-system/configmaps/istio", "", 404, `"NotFound"`},
		{http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/istio-system/leases/x", "", 404, `"NotFound"`},
		{http.MethodPost, "/api/v1/namespaces/istio-system/configmaps", "", 403, `"Forbidden"`},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody)
		r.Header.Set("Accept", c.accept)
		w := httptest.NewRecorder()
		emptyCluster(w, r)
		body, err := io.ReadAll(w.Result().Body)
		if err != nil || w.Code != c.code || !strings.Contains(string(body), c.body) {
			t.Errorf("%s %s: %d %s, error %v; want %d with %s", c.method, c.path, w.Code, body, err, c.code, c.body)
		}
	}
}

// The error of a program that has ended has the last lines of its log. Nothing is left of it after stop.
func TestRunning(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte(strings.Repeat("old\n", 100)+"newest\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := launch(t.Context(), log, []string{"ANSWER=42"}, "/bin/sh", "-c", `echo "answer $ANSWER"; cat`)
	if err != nil {
		t.Fatal(err)
	}
	<-r.done // cat reads the end of an empty input
	err = r.ended()
	if err == nil || !strings.Contains(err.Error(), "newest\nanswer 42") || strings.Count(err.Error(), "old") > 20 {
		t.Errorf("error %v; want the last lines of the log", err)
	}
	r, err = launch(t.Context(), log, nil, "/bin/sleep", "1000")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.ended(); err != nil {
		t.Error(err)
	}
	r.stop(os.Kill)
	if r.ended() == nil {
		t.Error("the program runs after stop")
	}
}
