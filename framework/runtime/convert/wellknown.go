package convert

import (
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// Duration converts d. A malformed duration is a violation. A duration beyond the 292 years of a
// [time.Duration] becomes the longest or shortest one.
func Duration(p resource.Path, d *durationpb.Duration, v *resource.Violations) time.Duration {
	if d == nil {
		return 0
	}
	if !isDuration(d.GetSeconds(), d.GetNanos()) {
		v.Add(p, seconds(d.GetSeconds()), "must be a valid google.protobuf.Duration")
		return 0
	}
	return d.AsDuration()
}

// isDuration reports whether a google.protobuf.Duration is valid. Its own method CheckValid would
// move the message, and the view that contains it, to the heap.
func isDuration(seconds int64, nanos int32) bool {
	const most = 10_000 * 31_557_600 // 10,000 years
	const second = 1_000_000_000
	return -most <= seconds && seconds <= most && -second < nanos && nanos < second &&
		(seconds <= 0 || nanos >= 0) && (seconds >= 0 || nanos <= 0)
}

// seconds is a time without a Go value, in the form that messages show.
type seconds int64

func (s seconds) String() string { return strconv.FormatInt(int64(s), 10) + "s" }

// Timestamp converts t, in UTC. A malformed t is a violation.
func Timestamp(p resource.Path, t *timestamppb.Timestamp, v *resource.Violations) time.Time {
	if t == nil {
		return time.Time{}
	}
	if t.CheckValid() != nil {
		v.Add(p, seconds(t.GetSeconds()), "must be a time between the years 1 and 9999")
		return time.Time{}
	}
	return t.AsTime()
}

// Slice returns an empty slice with room for n elements, or nil if n is 0.
func Slice[T any](n int) []T {
	if n == 0 {
		return nil
	}
	return make([]T, 0, n)
}

// Or returns the value of a wrapper, or otherwise if the wrapper is nil.
func Or[T any, W interface {
	comparable
	GetValue() T
}](w W, otherwise T) T {
	var none W
	if w == none {
		return otherwise
	}
	return w.GetValue()
}

// Is reports whether x, the value of a protobuf oneof, is the member whose wrapper is T.
func Is[T any](x any) bool {
	_, ok := x.(T)
	return ok
}

// Member returns the number of the oneof's member that is set in m; 0: none is, or m is nil.
func Member(m proto.Message, oneof protoreflect.Name) int32 {
	r := m.ProtoReflect()
	if f := r.WhichOneof(r.Descriptor().Oneofs().ByName(oneof)); f != nil {
		return int32(f.Number())
	}
	return 0
}

// Inline decodes a resource of a registered type inside another message, and adds its refs to meta.
// An absent message is nil.
func Inline(dc *resource.DecodeContext, meta *resource.Meta, p resource.Path, m proto.Message, v *resource.Violations) resource.Update {
	if !m.ProtoReflect().IsValid() {
		return nil
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		v.AddError(p, err)
		return nil
	}
	return dc.Inline(meta, v, p, string(m.ProtoReflect().Descriptor().FullName()), body)
}

// InlineEncoded is [Inline] of an encoded message of a type. Nil is an absent one.
func InlineEncoded(dc *resource.DecodeContext, meta *resource.Meta, p resource.Path, message string, body []byte, v *resource.Violations) resource.Update {
	if body == nil {
		return nil
	}
	return dc.Inline(meta, v, p, message, body)
}
