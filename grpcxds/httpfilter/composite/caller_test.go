package composite_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A caller's headers and text choose an action or none. They do not let a call pass without a choice.
func TestCallersDoNotEscape(t *testing.T) {
	w := newWorld(t)
	c := choose(action("Tag=a"))
	server, client := newServer(t, w, c), newClient(t, w, c)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context //nolint:containedctx // of the call
		md   metadata.MD
		tags string
		code codes.Code
	}{
		"chosen":                {t.Context(), metadata.MD{"x-a": {"0"}}, "a", codes.OK},
		"chosen, and canceled":  {canceled, metadata.MD{"x-a": {"0"}}, "a", codes.OK}, // the filter of the action sees the end
		"no header":             {t.Context(), metadata.MD{}, "", codes.Unavailable},
		"two values":            {t.Context(), metadata.MD{"x-a": {"0", "1"}}, "", codes.Unavailable},
		"5 MiB":                 {t.Context(), metadata.MD{"x-a": {strings.Repeat("0", 5<<20)}}, "", codes.Unavailable},
		"text that is no UTF-8": {t.Context(), metadata.MD{"x-a": {"0\xff"}}, "", codes.Unavailable},
		"canceled":              {canceled, metadata.MD{}, "", codes.Unavailable},
	} {
		received := &httpfilter.ServerCall{Method: "/s/m", Metadata: tt.md.Copy()}
		_, err := server.Intercept(tt.ctx, received)
		if tags := strings.Join(received.Metadata["x-tag"], " "); tags != tt.tags || status.Code(err) != tt.code {
			t.Errorf("%s on a server: the tags %q, %v; want %q, %v", name, tags, err, tt.tags, tt.code)
		}
		sent := &httpfilter.ClientCall{Method: "/s/m", Metadata: tt.md.Copy()}
		_, err = client.chain.Intercept(tt.ctx, sent)
		if tags := strings.Join(sent.Metadata["x-tag"], " "); tags != tt.tags || status.Code(err) != tt.code {
			t.Errorf("%s on a channel: the tags %q, %v; want %q, %v", name, tags, err, tt.tags, tt.code)
		}
	}
}
