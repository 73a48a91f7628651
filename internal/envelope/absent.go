package envelope

import (
	"iter"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

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
