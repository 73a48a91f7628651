package statefulsession

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/statefulsession"
)

// Filter returns the stateful session filter (A55). An override replaces the configuration, or disables the filter.
//
// The filter reads the cookie from the metadata of the program, and adds the new cookie to the headers of the response. If
// the response has only trailers, it adds the cookie to these. The attribute Path is always set, so that a cookie jar by
// RFC 6265 does not restrict the session to one service.
func Filter() *httpfilter.Filter {
	return &httpfilter.Filter{
		HTTPFilter: config.Filter(),
		NewClient: httpfilter.ClientFunc(func(c, override any) (httpfilter.ClientInterceptor, error) {
			if override != nil {
				c = override
			}
			read, ok := c.(config.Config)
			if !ok {
				return nil, fmt.Errorf("statefulsession: the configuration is a %T; must be one that the filter has read", c)
			}
			if read.Name == "" {
				return nil, nil //nolint:nilnil // lets every call pass
			}
			return newCookie(read), nil
		}),
	}
}

// NewStream implements [httpfilter.ClientInterceptor].
func (c *cookie) NewStream(ctx context.Context, call *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
	if !covers(c.path, call.Method) {
		return next(ctx)
	}
	sent, session := c.find(call.Metadata["cookie"]), sessionOf(ctx)
	if session != nil && sent == (value{}) {
		sent = session.find(c)
	}
	ctx, routed := lbtree.WithAffinity(ctx, sent.addresses(), sent.cluster)
	s, err := next(ctx)
	if err != nil || routed == nil {
		return s, err
	}
	return &stream{ClientStream: s, cookie: c, call: routed, sent: sent, session: session}, nil
}

// A stream adds the cookie to the response.
type stream struct {
	grpc.ClientStream
	cookie  *cookie
	call    *lbtree.Call
	sent    value
	session *Session // gets the cookie with the first message; nil: the call has none
}

// RecvMsg implements [grpc.ClientStream].
func (s *stream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if s.session == nil {
		return err
	}
	md, _ := s.ClientStream.Header()
	if md == nil {
		md = s.ClientStream.Trailer()
	}
	if used := s.used(); len(md) > 0 && used.list != "" && used != s.sent {
		s.session.keep(s.cookie, used)
	}
	s.session = nil
	return err
}

// Header implements [grpc.ClientStream].
func (s *stream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	if err != nil || md == nil {
		return md, err
	}
	return s.add(md), nil
}

// Trailer implements [grpc.ClientStream]. Without a response, there are no trailers.
func (s *stream) Trailer() metadata.MD {
	md := s.ClientStream.Trailer()
	if len(md) == 0 {
		return md
	}
	if header, _ := s.ClientStream.Header(); header != nil {
		return md
	}
	return s.add(md)
}

// used returns the endpoint and the cluster that the call was sent to. It is zero if there is none.
func (s *stream) used() value {
	v := value{list: s.call.Affinity.Used()}
	if v.list != "" && !xdsconfig.IsPluginTarget(s.call.Cluster) {
		v.cluster = s.call.Cluster
	}
	return v
}

// add returns the metadata with the cookie, if the endpoint or the cluster differs from those of the request (A60).
func (s *stream) add(md metadata.MD) metadata.MD {
	used := s.used()
	if used.list == "" || used == s.sent {
		return md
	}
	md = md.Copy()
	md.Append("set-cookie", s.cookie.set(used))
	return md
}
