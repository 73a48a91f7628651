package resource

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// Limits bound the memory that resources take. They apply to one resource, to one response, and to
// the members of a collection. Few bytes can describe many elements: an empty message in a list
// takes two. Therefore decoding has a cost in bytes. Each list element costs its size in memory, or
// that of the struct that is made of it if that is larger. Each map entry costs about 200 bytes and
// twice the size of its value. A message that protobuf unmarshals costs twice its size. A resource over
// the limit is invalid.
// Regular expressions cost the number of instructions that they compile to, plus 32 each.
//
// A field that is not positive has its default.
type Limits struct {
	// ResourceSize is the limit of the cost of one resource, in bytes. Default
	// 128 MiB.
	ResourceSize int64
	// ResponseSize is the limit of the cost of all resources of one response, in bytes, beyond half
	// the bytes of the response. Default 96 MiB.
	ResponseSize int64
	// ResourceRegexps is the limit of the cost of the regular expressions of one resource, in
	// instructions. Default 1,048,576.
	ResourceRegexps int64
	// ResponseRegexps is the same limit for all resources of one response. Default
	// 1,048,576.
	ResponseRegexps int64
	// CollectionMembers is the limit of members of a collection: a wildcard, a glob collection
	// or a list collection. Further members of a wildcard or glob are rejected. A list with
	// more entries is rejected as a whole. Default 200,000.
	CollectionMembers int
}

// The defaults of Limits. Sizes are in bytes, regexps in instructions.
const (
	defaultResourceSize    = 128 << 20
	defaultResponseSize    = 96 << 20
	defaultResourceRegexps = 1 << 20
	defaultResponseRegexps = 1 << 20

	defaultCollectionMembers = 200_000
)

// resourceBase is the cost of each resource in bytes, without its elements.
const resourceBase = 512

// regexpBase is the cost of each regular expression, without its instructions.
const regexpBase = 32

// WithDefaults returns the limits with defaults in place of those that are not positive.
func (l Limits) WithDefaults() Limits {
	set := func(p *int64, value int64) {
		if *p <= 0 {
			*p = value
		}
	}
	set(&l.ResourceSize, defaultResourceSize)
	set(&l.ResponseSize, defaultResponseSize)
	set(&l.ResourceRegexps, defaultResourceRegexps)
	set(&l.ResponseRegexps, defaultResponseRegexps)
	if l.CollectionMembers <= 0 {
		l.CollectionMembers = defaultCollectionMembers
	}
	return l
}

// Response returns the budget that the resources of a response share. The argument bytes is the
// size of the response.
func (l Limits) Response(bytes int64) *wire.Shared {
	return wire.NewShared(wire.Quotas{Size: l.ResponseSize + bytes/2, Regexps: l.ResponseRegexps})
}

// Start resets a budget for another resource. The argument response is the budget of
// its response, or nil.
func (s *Set) Start(b *wire.Budget, l Limits, response *wire.Shared) {
	var costs *wire.Costs
	if s != nil {
		costs = s.costs
	}
	b.Start(wire.Quotas{Size: l.ResourceSize, Regexps: l.ResourceRegexps}, costs, response)
}

// budget returns the budget of the resource, or one with the default limits if the caller set none.
func (dc *DecodeContext) budget() *wire.Budget {
	if dc == nil {
		return nil
	}
	if dc.Budget == nil {
		dc.Budget = new(wire.Budget)
		dc.Types.Start(dc.Budget, Limits{}.WithDefaults(), nil)
	}
	return dc.Budget
}

// Spend spends the memory of n elements of the given size. Hooks call it if their results are
// larger than the elements of the resource. It returns an error if the budget is exhausted.
func (dc *DecodeContext) Spend(n, size int) error {
	b := dc.budget()
	if b.Elements(n, size) {
		return nil
	}
	return tooLarge("", b.Excess())
}

// Unmarshal is [proto.Unmarshal] within the limits of the resource. It returns decoder errors.
func (dc *DecodeContext) Unmarshal(b []byte, m proto.Message) error {
	return unmarshal(dc.budget(), b, m)
}

func unmarshal(budget *wire.Budget, b []byte, m proto.Message) error {
	if !budget.Messages(b, m) {
		return tooLarge("", budget.Excess())
	}
	if err := proto.Unmarshal(b, m); err != nil {
		return wire.Unparseable(string(m.ProtoReflect().Descriptor().FullName()), err)
	}
	return nil
}

// Unreadable returns the error for an encoded message, of m's type, that a reader of the context
// failed to read: the resource is too large, or the message is malformed. Only m's type is used.
func (dc *DecodeContext) Unreadable(message string, b []byte, m proto.Message) error {
	if e := dc.budget().Excess(); e != nil {
		return tooLarge(e.Where(b, m), e)
	}
	return wire.Unparseable(message, wire.Malformed(b, m))
}

// tooLarge returns the error for an exceeded limit.
func tooLarge(path string, e *wire.Excess) error {
	var value, field string
	switch {
	case e.Regexps:
		value, field = fmt.Sprintf("%d instructions of regular expressions", e.Count), "Regexps"
	case e.Count == 1:
		value, field = fmt.Sprintf("%d bytes in memory", e.Size), "Size"
	default:
		value, field = fmt.Sprintf("%d elements of %d bytes", e.Count, e.Size), "Size"
	}
	whose := "Resource"
	if e.Response {
		whose = "Response"
	}
	v := Violation{Path: path, Value: value, Rule: "exceeds the decode limit " + whose + field + " (xdsforge.WithLimits)"}
	if path == "" {
		v = Violation{Rule: value + " exceed the decode limit " + whose + field + " (xdsforge.WithLimits)"}
	}
	return &ValidationError{Violations: []Violation{v}}
}

// SpendBase takes the cost of a resource without its elements.
func (dc *DecodeContext) SpendBase() error { return dc.Spend(1, resourceBase) }
