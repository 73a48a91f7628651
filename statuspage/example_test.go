package statuspage_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/xdsforge/xdsforge/statuspage"
)

// A program serves the pages beside its other debug pages. Scripts and alerts read their JSON.
func ExampleHandler() {
	mux := http.NewServeMux()
	mux.Handle("/debug/xds/", statuspage.Handler())
	// In a program: http.ListenAndServe("127.0.0.1:6060", mux)

	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:6060/debug/xds/servers", http.NoBody)
	r.Header.Set("Accept", "application/json")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	fmt.Print(w.Body)
	// Output:
	// 200 application/json
	// {
	//   "servers": null
	// }
}
