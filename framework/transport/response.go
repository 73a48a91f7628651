package transport

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Response is a state-of-the-world DiscoveryResponse whose envelope has been
// read and whose resources are still encoded, in the bytes that were received.
type Response struct {
	Version string
	TypeURL string
	Nonce   string

	raw []byte
}

// A Resource is one element of a response, still encoded.
type Resource struct {
	// Name is the wrapper's name; empty for a resource that came without
	// envoy.service.discovery.v3.Resource around it.
	Name string
	// TypeURL is the type of the body.
	TypeURL string
	// Body is the encoded message. It aliases the received bytes.
	Body []byte
	// Err says why the resource cannot be read; then there is no Body.
	Err error
}

// Field numbers of envoy.service.discovery.v3.DiscoveryResponse, of Resource
// and of google.protobuf.Any.
const (
	responseVersion   = 1
	responseResources = 2
	responseTypeURL   = 4
	responseNonce     = 5

	wrapperResource = 2
	wrapperName     = 3

	anyTypeURL = 1
	anyValue   = 2

	wrapperTypeName = "envoy.service.discovery.v3.Resource"
)

// ParseResponse reads the envelope of an encoded DiscoveryResponse. It checks
// the framing of all of it, so that walking the resources cannot fail for the
// envelope's sake; what is inside a resource fails that resource alone.
func ParseResponse(raw []byte) (*Response, error) {
	r := &Response{raw: raw}
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
		return nil, fmt.Errorf("transport: not a DiscoveryResponse: %w", err)
	}
	if !utf8.ValidString(r.Version) || !utf8.ValidString(r.TypeURL) || !utf8.ValidString(r.Nonce) {
		return nil, errors.New("transport: not a DiscoveryResponse: version, type URL or nonce is not UTF-8")
	}
	return r, nil
}

// Resources yields the resources in the order of the response.
func (r *Response) Resources() iter.Seq[Resource] {
	return func(yield func(Resource) bool) {
		errStop := errors.New("stop")
		_ = fields(r.raw, func(num int32, value []byte) error { // the framing was checked before
			if num == responseResources && !yield(r.resource(value)) {
				return errStop
			}
			return nil
		})
	}
}

func (r *Response) resource(anyBytes []byte) Resource {
	url, value, err := r.unpack(anyBytes)
	if err != nil {
		return Resource{Err: err}
	}
	if MessageName(url) != wrapperTypeName {
		return Resource{TypeURL: url, Body: value}
	}
	var res Resource
	var body []byte
	present := false
	err = fields(value, func(num int32, value []byte) error {
		switch num {
		case wrapperName:
			res.Name = string(value)
		case wrapperResource:
			// Occurrences of a message field merge; for an Any the last of each
			// of its fields wins.
			body = append(slices.Clip(body), value...)
			present = true
		}
		return nil
	})
	switch {
	case err != nil:
		res.Err = fmt.Errorf("not a %s: %w", wrapperTypeName, err)
	case !utf8.ValidString(res.Name):
		res.Name, res.Err = "", errors.New("the wrapper's name is not UTF-8")
	case !present:
		res.Err = errors.New("the wrapper holds no resource")
	default:
		res.TypeURL, res.Body, res.Err = r.unpack(body)
	}
	return res
}

// unpack reads a google.protobuf.Any. Its type is most often that of the response,
// and then shares its text.
func (r *Response) unpack(b []byte) (url string, value []byte, err error) {
	value = []byte{}
	err = fields(b, func(num int32, v []byte) error {
		switch num {
		case anyTypeURL:
			if url = r.TypeURL; string(v) != url {
				url = string(v)
			}
		case anyValue:
			value = v
		}
		return nil
	})
	if err != nil {
		return "", nil, fmt.Errorf("not a google.protobuf.Any: %w", err)
	}
	return url, value, nil
}

// MessageName is the part of a type URL that names the message.
func MessageName(typeURL string) string {
	return typeURL[strings.LastIndexByte(typeURL, '/')+1:]
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
