package transport

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Response is a DiscoveryResponse or a DeltaDiscoveryResponse whose envelope has
// been read and whose resources are still encoded, in the bytes that were received.
type Response struct {
	Version string // of the state of the world; for people only in the delta protocol
	TypeURL string
	Nonce   string

	raw   []byte
	delta bool
}

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
func ParseResponse(raw []byte) (*Response, error) { return parse(raw, false) }

// ParseDeltaResponse is [ParseResponse] for a DeltaDiscoveryResponse.
func ParseDeltaResponse(raw []byte) (*Response, error) { return parse(raw, true) }

func parse(raw []byte, delta bool) (*Response, error) {
	r := &Response{raw: raw, delta: delta}
	what := "DiscoveryResponse"
	if delta {
		what = "DeltaDiscoveryResponse"
	}
	err := fields(raw, func(num int32, value []byte) error {
		switch num {
		case responseVersion:
			r.Version = string(value)
		case responseTypeURL:
			r.TypeURL = string(value)
		case responseNonce:
			r.Nonce = string(value)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("transport: not a %s: %w", what, err)
	}
	if !utf8.ValidString(r.Version) || !utf8.ValidString(r.TypeURL) || !utf8.ValidString(r.Nonce) {
		return nil, fmt.Errorf("transport: not a %s: version, type URL or nonce is not UTF-8", what)
	}
	return r, nil
}

// Resources yields the resources in the order of the response.
func (r *Response) Resources() iter.Seq[Resource] {
	return func(yield func(Resource) bool) {
		r.walk(func(num int32, value []byte) bool {
			switch {
			case num != responseResources:
				return true
			case r.delta:
				return yield(r.wrapped(value))
			}
			return yield(r.resource(value))
		})
	}
}

// Removed yields the names of what the control plane has removed, or does not
// have. Only the delta protocol says so.
func (r *Response) Removed() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !r.delta {
			return
		}
		r.walk(func(num int32, value []byte) bool {
			switch num {
			case deltaResponseRemoved:
				return yield(string(value))
			case deltaResponseRemovedNames:
				name, err := resourceName(value)
				return err != nil || yield(name)
			}
			return true
		})
	}
}

// A ResourceError is what the control plane says of a resource, or of a glob
// collection, that it cannot send (xRFC TP3).
type ResourceError struct {
	Name    string
	Code    int32 // of google.rpc.Code
	Message string
}

// Errors yields the errors in the order of the response. One that cannot be read
// is passed over: it says nothing of any resource.
func (r *Response) Errors() iter.Seq[ResourceError] {
	number := int32(responseErrors)
	if r.delta {
		number = deltaResponseErrors
	}
	return func(yield func(ResourceError) bool) {
		r.walk(func(num int32, value []byte) bool {
			if num != number {
				return true
			}
			e, err := resourceError(value)
			return err != nil || yield(e)
		})
	}
}

// walk calls f with every length-delimited field of the envelope, whose framing
// was checked before, until f returns false.
func (r *Response) walk(f func(num int32, value []byte) bool) {
	errStop := errors.New("stop")
	_ = fields(r.raw, func(num int32, value []byte) error {
		if !f(num, value) {
			return errStop
		}
		return nil
	})
}

func resourceName(b []byte) (name string, err error) {
	err = fields(b, func(num int32, value []byte) error {
		if num == resourceNameName {
			name = string(value)
		}
		return nil
	})
	return name, err
}

func resourceError(b []byte) (e ResourceError, err error) {
	err = fields(b, func(num int32, value []byte) error {
		var err error
		switch num {
		case resourceErrorName:
			e.Name, err = resourceName(value)
		case resourceErrorDetail:
			e.Code, e.Message, err = rpcStatus(value)
		}
		return err
	})
	return e, err
}

func rpcStatus(b []byte) (code int32, message string, err error) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0, "", protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return 0, "", protowire.ParseError(size)
		}
		switch {
		case num == statusCode && typ == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(b[n:])
			code = int32(v) //nolint:gosec // an enum travels as a sign-extended varint
		case num == statusMessage && typ == protowire.BytesType:
			v, _ := protowire.ConsumeBytes(b[n:])
			message = strings.ToValidUTF8(string(v), "\uFFFD")
		}
		b = b[n+size:]
	}
	return code, message, nil
}

// fields calls f with every length-delimited field of a message. Fields of
// other wire types are skipped: none of the messages read here needs them.
func fields(b []byte, f func(num int32, value []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return protowire.ParseError(n)
			}
			b = b[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(int32(num), value); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
