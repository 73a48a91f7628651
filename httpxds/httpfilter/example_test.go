package httpfilter_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
)

// parse reads the configuration of the filter: a text.
func parse(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
	m := new(wrapperspb.StringValue)
	err := c.Unmarshal(m)
	return m.GetValue(), err
}

// banner is a filter that sets a header of responses.
var banner = &httpfilter.Filter{
	HTTPFilter: &resource.HTTPFilter{Config: "google.protobuf.StringValue", Sides: resource.ServerSide, Parse: parse},
	NewServer: httpfilter.Stateless(func(config, _ any) (httpfilter.Middleware, error) {
		text := config.(string)
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Banner", text)
				next.ServeHTTP(w, r)
			})
		}, nil
	}),
}

// The server calls NewServer, Interceptor and Wrap when it receives a configuration, and the handler for each request.
func Example() {
	instance, err := banner.NewServer(httpfilter.Host{Name: "banner"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer instance.Close()
	interceptor, err := instance.Interceptor(httpfilter.Use{Config: "hello"})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	interceptor.Wrap(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	fmt.Println(w.Header().Get("X-Banner"), w.Code)
	// Output: hello 404
}
