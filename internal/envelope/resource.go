package envelope

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Resource is one element of a response, still encoded.
type Resource struct {
	// Name is the wrapper's name. It is empty without a wrapper,
	// envoy.service.discovery.v3.Resource.
	Name string
	// Aliases are other names of the resource. Their number is limited.
	Aliases []string
	// Version is the wrapper's.
	Version string
	// TTL is how long the resource is valid without an update or heartbeat; zero: without limit.
	TTL time.Duration
	// Heartbeat means that there is no body because the resource is unchanged. Its TTL starts
	// again.
	Heartbeat bool
	// TypeURL is the type of the body.
	TypeURL string
	// Body is the encoded message. It aliases the received bytes.
	Body []byte
	// Err is the reason why the resource cannot be read. There is then no Body.
	Err error
}

// Field numbers of envoy.service.discovery.v3.Resource, google.protobuf.Any and
// google.protobuf.Duration.
const (
	wrapperVersion      = 1
	wrapperResource     = 2
	wrapperName         = 3
	wrapperAliases      = 4
	wrapperTTL          = 6
	wrapperResourceName = 8

	anyTypeURL = 1
	anyValue   = 2

	durationSeconds = 1
	durationNanos   = 2

	maxAliases = 1 << 10

	wrapperTypeName = "envoy.service.discovery.v3.Resource"
)

// resource reads an element of a state-of-the-world response.
func (r *Response) resource(anyBytes []byte) Resource {
	url, value, err := r.unpack(anyBytes)
	if err != nil {
		return Resource{Err: err}
	}
	if MessageName(url) != wrapperTypeName {
		return Resource{TypeURL: url, Body: value}
	}
	return r.wrapped(value)
}

// wrapped reads a resource in its wrapper.
func (r *Response) wrapped(b []byte) Resource {
	var res Resource
	var body []byte
	occurrences := 0
	err := fields(b, func(num int32, value []byte) (err error) {
		switch num {
		case wrapperVersion:
			res.Version = string(value)
		case wrapperName:
			res.Name = string(value)
		case wrapperAliases:
			if len(res.Aliases) < maxAliases {
				res.Aliases = append(res.Aliases, string(value))
			}
		case wrapperResourceName:
			if res.Name == "" {
				res.Name, err = resourceName(value)
			}
		case wrapperTTL:
			res.TTL, err = duration(value)
		case wrapperResource:
			// Occurrences of a message field merge. For an Any the last of each of its fields wins.
			// The first occurrence aliases the response, so it must not be appended to.
			occurrences++
			switch occurrences {
			case 1:
				body = value
			case 2:
				body = append(slices.Clip(body), value...)
			default:
				body = append(body, value...)
			}
		}
		return err
	})
	switch {
	case err != nil:
		res.Err = fmt.Errorf("not a %s: %w", wrapperTypeName, err)
	case !utf8.ValidString(res.Name) || !utf8.ValidString(res.Version) || slices.ContainsFunc(res.Aliases, func(s string) bool { return !utf8.ValidString(s) }):
		res = Resource{Err: errors.New("the wrapper's name, version or an alias is not UTF-8")}
	case occurrences > 0:
		res.TypeURL, res.Body, res.Err = r.unpack(body)
	case res.TTL > 0:
		res.Heartbeat = true
	default:
		res.Err = errors.New("the wrapper holds no resource")
	}
	return res
}

// unpack reads a google.protobuf.Any. Its type is mostly that of the response, and then shares its
// string.
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

// MessageName returns the message name in a type URL.
func MessageName(typeURL string) string {
	return typeURL[strings.LastIndexByte(typeURL, '/')+1:]
}

// duration reads a google.protobuf.Duration. A longer one becomes the longest time.Duration.
func duration(b []byte) (time.Duration, error) {
	const longest = int64(1<<63-1) / int64(time.Second)
	var seconds, nanos int64
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return 0, protowire.ParseError(size)
		}
		if typ == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(b[n:])
			switch int32(num) {
			case durationSeconds:
				seconds = int64(v) //nolint:gosec // signed numbers travel in two's complement
			case durationNanos:
				nanos = int64(v) //nolint:gosec // likewise
			}
		}
		b = b[n+size:]
	}
	if seconds < 0 || nanos < 0 || nanos >= int64(time.Second) {
		return 0, errors.New("the TTL is not a positive duration")
	}
	if seconds >= longest {
		return time.Duration(longest) * time.Second, nil
	}
	return time.Duration(seconds)*time.Second + time.Duration(nanos), nil
}

// Removed yields the names of resources that the control plane has removed, or does not have. Only
// the delta protocol reports them.
func (r *Response) Removed() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !r.delta {
			return
		}
		for _, o := range r.others {
			if o.num == deltaResponseRemoved && !yield(string(o.value)) {
				return
			}
			if o.num != deltaResponseRemovedNames {
				continue
			}
			if name, err := resourceName(o.value); err == nil && !yield(name) {
				return
			}
		}
	}
}

// A ResourceError is the control plane's error for a resource, or for a glob collection, that it
// cannot send (xRFC TP3).
type ResourceError struct {
	Name    string
	Code    int32 // of google.rpc.Code
	Message string
}

// Errors yields the errors in the order of the response. It skips unreadable errors, because they
// name no resource.
func (r *Response) Errors() iter.Seq[ResourceError] {
	number := protowire.Number(responseErrors)
	if r.delta {
		number = deltaResponseErrors
	}
	return func(yield func(ResourceError) bool) {
		for _, o := range r.others {
			if o.num != number {
				continue
			}
			if e, err := resourceError(o.value); err == nil && !yield(e) {
				return
			}
		}
	}
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

// fields calls f with every length-delimited field of a message. It skips fields of other wire
// types, which no message read here needs.
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
