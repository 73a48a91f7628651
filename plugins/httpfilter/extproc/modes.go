package extproc

import (
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// Modes selects the events of a call that the processor receives. Messages include the client's half-close.
type Modes struct {
	RequestHeaders, RequestMessages                     bool
	ResponseHeaders, ResponseMessages, ResponseTrailers bool
}

func readModes(p resource.Path, m *extprocv3.ProcessingMode, v *resource.Violations) Modes {
	out := Modes{
		RequestHeaders:   sends(p.Field("request_header_mode"), m.GetRequestHeaderMode(), true, v),
		RequestMessages:  sendsMessages(p.Field("request_body_mode"), m.GetRequestBodyMode(), v),
		ResponseHeaders:  sends(p.Field("response_header_mode"), m.GetResponseHeaderMode(), true, v),
		ResponseMessages: sendsMessages(p.Field("response_body_mode"), m.GetResponseBodyMode(), v),
		ResponseTrailers: sends(p.Field("response_trailer_mode"), m.GetResponseTrailerMode(), false, v),
	}
	if out.ResponseMessages && !out.ResponseTrailers {
		v.Add(p.Field("response_trailer_mode"), m.GetResponseTrailerMode(), "must be SEND if response_body_mode is GRPC (A93)")
	}
	return out
}

// sends reads the mode of headers or trailers.
func sends(p resource.Path, m extprocv3.ProcessingMode_HeaderSendMode, byDefault bool, v *resource.Violations) bool {
	switch m {
	case extprocv3.ProcessingMode_DEFAULT:
		return byDefault
	case extprocv3.ProcessingMode_SEND:
		return true
	case extprocv3.ProcessingMode_SKIP:
		return false
	}
	v.Add(p, m, "must be DEFAULT, SEND or SKIP")
	return false
}

// sendsMessages reads the mode of messages.
func sendsMessages(p resource.Path, m extprocv3.ProcessingMode_BodySendMode, v *resource.Violations) bool {
	if m != extprocv3.ProcessingMode_NONE && m != extprocv3.ProcessingMode_GRPC {
		v.Add(p, m, "must be NONE or GRPC (A93)")
	}
	return m == extprocv3.ProcessingMode_GRPC
}
