package transport

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Response is a DiscoveryResponse or a DeltaDiscoveryResponse whose envelope has
// been read and whose resources are still encoded, in the bytes that were received.
// It may be used for one response after another; see [Response.Parse].
type Response struct {
	Version string // of the state of the world; for people only in the delta protocol
	TypeURL string
	Nonce   string

	raw       []byte
	delta     bool
	resources []span // where they are in raw
	others    bool   // there are fields that may say something of other resources
	plain     []byte // how an Any of type TypeURL begins, up to the length of its value
}

// maxAlike bounds for how many resources room is made before they have been met.
const maxAlike = 1 << 16

// A span is a part of a response.
type span struct{ start, end uint32 }

// Field numbers of envoy.service.discovery.v3.DiscoveryResponse and of
// DeltaDiscoveryResponse, which share the first four, of ResourceName, ResourceError
// and google.rpc.Status.
const (
	responseVersion   = 1
	responseResources = 2
	responseTypeURL   = 4
	responseNonce     = 5
	responseErrors    = 7

	deltaResponseRemoved      = 6
	deltaResponseRemovedNames = 8
	deltaResponseErrors       = 9

	resourceNameName = 1

	resourceErrorName   = 1
	resourceErrorDetail = 2
)

// ParseResponse reads the envelope of an encoded DiscoveryResponse. It checks
// the framing of all of it, so that walking the resources cannot fail for the
// envelope's sake; what is inside a resource fails that resource alone.
func ParseResponse(raw []byte) (*Response, error) {
	r := new(Response)
	if err := r.Parse(raw, false); err != nil {
		return nil, err
	}
	return r, nil
}

// ParseDeltaResponse is [ParseResponse] for a DeltaDiscoveryResponse.
func ParseDeltaResponse(raw []byte) (*Response, error) {
	r := new(Response)
	if err := r.Parse(raw, true); err != nil {
		return nil, err
	}
	return r, nil
}

// Parse makes r the response in raw, of the delta protocol or not, as [ParseResponse]
// does. What it was before is lost; its memory is used again.
func (r *Response) Parse(raw []byte, delta bool) error {
	*r = Response{raw: raw, delta: delta, resources: r.resources[:0], plain: r.plain[:0]}
	what := "DiscoveryResponse"
	if delta {
		what = "DeltaDiscoveryResponse"
	}
	if len(raw) > math.MaxUint32 {
		return fmt.Errorf("transport: not a %s: it is longer than 4 GiB", what)
	}
	if err := r.envelope(); err != nil {
		return fmt.Errorf("transport: not a %s: %w", what, err)
	}
	if !utf8.ValidString(r.Version) || !utf8.ValidString(r.TypeURL) || !utf8.ValidString(r.Nonce) {
		return fmt.Errorf("transport: not a %s: version, type URL or nonce is not UTF-8", what)
	}
	return nil
}

// envelope finds what there is in raw.
func (r *Response) envelope() error {
	for at := 0; at < len(r.raw); {
		num, typ, n := protowire.ConsumeTag(r.raw[at:])
		if n < 0 {
			return protowire.ParseError(n)
		}
		at += n
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, r.raw[at:]); n < 0 {
				return protowire.ParseError(n)
			}
			at += n
			continue
		}
		value, n := protowire.ConsumeBytes(r.raw[at:])
		if n < 0 {
			return protowire.ParseError(n)
		}
		at += n
		switch num {
		case responseVersion:
			r.Version = string(value)
		case responseResources:
			if cap(r.resources) == 0 { // most often they are alike
				r.resources = make([]span, 0, min(len(r.raw)/(len(value)+2)+1, maxAlike))
			}
			r.resources = append(r.resources, span{uint32(at - len(value)), uint32(at)}) //nolint:gosec // checked by Parse
		case responseTypeURL:
			r.TypeURL = string(value)
		case responseNonce:
			r.Nonce = string(value)
		default:
			r.others = true
		}
	}
	if !r.delta && MessageName(r.TypeURL) != wrapperTypeName {
		r.plain = appendString(r.plain, anyTypeURL, r.TypeURL)
		r.plain = protowire.AppendTag(r.plain, anyValue, protowire.BytesType)
	}
	return nil
}

// Len is how many resources there are.
func (r *Response) Len() int { return len(r.resources) }

// At is the resource with a number, from 0 to Len()-1.
func (r *Response) At(i int) Resource {
	b := r.raw[r.resources[i].start:r.resources[i].end]
	if r.delta {
		return r.wrapped(b)
	}
	if body, ok := r.Plain(i); ok {
		return Resource{TypeURL: r.TypeURL, Body: body}
	}
	return r.resource(b)
}

// Plain is the body of the resource with a number, if it has no wrapper, is of the
// response's type, and is encoded as everybody does it. [Response.At] is for any other,
// and says no more of this one.
func (r *Response) Plain(i int) (body []byte, ok bool) {
	b := r.raw[r.resources[i].start:r.resources[i].end]
	if len(r.plain) == 0 || !bytes.HasPrefix(b, r.plain) {
		return nil, false
	}
	b = b[len(r.plain):]
	body, n := protowire.ConsumeBytes(b)
	return body, n == len(b)
}

// Resources yields the resources in the order of the response.
func (r *Response) Resources() iter.Seq[Resource] {
	return func(yield func(Resource) bool) {
		for i := range r.Len() {
			if !yield(r.At(i)) {
				return
			}
		}
	}
}
