package transport

import (
	"errors"
	"iter"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

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
// was checked before, until f returns false. It has nothing to do where there are only
// resources and what everybody reads.
func (r *Response) walk(f func(num int32, value []byte) bool) {
	if !r.others {
		return
	}
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
