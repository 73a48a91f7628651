package wire

import (
	"reflect"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Costs computes the memory that [proto.Unmarshal] takes for encoded messages, and has the rules of
// [Check]. The zero value is ready. It is safe for concurrent use.
type Costs struct{ plans sync.Map } // of *plan, by protoreflect.MessageDescriptor

// Messages spends the memory for unmarshalling encoded into m, and for the value that is made of m.
// It reports whether the budget allows it. Only m's type is used.
func (b *Budget) Messages(encoded []byte, m proto.Message) bool {
	if b == nil {
		return true
	}
	return b.messages(encoded, m, -1)
}

// messages is [Budget.Messages] for a message at a place in the encoded resource.
func (b *Budget) messages(encoded []byte, m proto.Message, at int) bool {
	r := Read(encoded)
	size := b.plan(m).cost(&r) + int64(len(encoded))
	return b.charge(b.size.take(made*size, size/2), Excess{Count: 1, Size: int(made * size), at: at})
}

// plan returns the plan of a message. It builds a new one if b is nil.
func (b *Budget) plan(m proto.Message) *plan {
	d := m.ProtoReflect().Descriptor()
	switch {
	case b == nil:
		return new(Costs).plan(d)
	case b.costs == nil:
		b.costs = new(Costs)
	}
	return b.costs.plan(d)
}

// made is how many times a message counts that protobuf unmarshals: once for itself, and
// once for a hook's result. Only half its size counts toward the limit that the resources of
// a response share, because the message does not outlive the resource's decoding.
const made = 2

// A plan describes how to count the memory of a message and how to check it.
type plan struct {
	costs *Costs
	size  int64 // of the empty message
	desc  protoreflect.MessageDescriptor
	entry bool // it is an entry of a map

	once   sync.Once
	fields []part // by number, where that is low
	others map[protowire.Number]part
}

// A part describes how to count the memory of a field's value and how to check it.
type part struct {
	kind    partKind
	content content
	each    int64 // of each occurrence
	child   *plan // of a message
}

type partKind uint8

const (
	opaque   partKind = iota // only each is counted
	message                  // each and the message
	mapEntry                 // each and the entry
	packed                   // scalars, which may be packed
)

// Sizes of the allocations beside messages, in bytes.
const (
	elementCost  = 16 // a pointer to an element, and the room with which lists grow
	stringCost   = 32 // a string in a list
	oneofCost    = 24 // the struct around a member of a oneof
	entryCost    = 96 // an entry of a map
	scalarCost   = 16 // a scalar in a list
	unknownSize  = 256
	lowestFields = 64 // numbers below are found fastest
)

func (c *Costs) plan(d protoreflect.MessageDescriptor) *plan {
	if p, ok := c.plans.Load(d); ok {
		return p.(*plan)
	}
	p, _ := c.plans.LoadOrStore(d, &plan{costs: c, desc: d, size: sizeOfMessage(d), entry: d.IsMapEntry()})
	return p.(*plan)
}

// sizeOfMessage returns the size of the message's struct. A map entry has none.
func sizeOfMessage(d protoreflect.MessageDescriptor) int64 {
	if d.IsMapEntry() {
		return 0
	}
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		return unknownSize
	}
	g := reflect.TypeOf(t.Zero().Interface())
	if g.Kind() != reflect.Pointer {
		return unknownSize
	}
	return int64(g.Elem().Size()) //nolint:gosec // no struct is as large
}

// build fills in the plan of the fields.
func (p *plan) build() {
	list := p.desc.Fields()
	highest := protowire.Number(0)
	for i := range list.Len() {
		highest = max(highest, list.Get(i).Number())
	}
	p.fields, p.others = make([]part, min(highest+1, lowestFields)), make(map[protowire.Number]part)
	for i := range list.Len() {
		f := list.Get(i)
		one := p.part(f)
		one.content = contentOf(f)
		if n := f.Number(); n < lowestFields {
			p.fields[n] = one
		} else {
			p.others[n] = one
		}
	}
}

func (p *plan) part(f protoreflect.FieldDescriptor) part {
	var one part
	switch {
	case f.IsMap():
		return part{kind: mapEntry, each: entryCost, child: p.costs.plan(f.Message())}
	case f.Kind() == protoreflect.MessageKind || f.Kind() == protoreflect.GroupKind:
		one = part{kind: message, child: p.costs.plan(f.Message())}
		if f.Kind() == protoreflect.GroupKind {
			one.kind = opaque
		}
		if f.IsList() {
			one.each = elementCost
		}
	case f.IsList() && (f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind):
		one.each = stringCost
	case f.IsList():
		one = part{kind: packed, each: scalarCost}
	}
	if f.ContainingOneof() != nil {
		one.each += oneofCost
	}
	return one
}

// cost returns the memory of the message that r would enter.
func (p *plan) cost(r *Reader) int64 {
	p.once.Do(p.build)
	total := p.size
	outer := p.enter(r)
	for r.Next() {
		number, typ := protowire.DecodeTag(uint64(r.tag))
		one := p.of(number)
		total += one.each
		if typ != protowire.BytesType || one.kind == opaque {
			r.Skip()
			continue
		}
		switch one.kind {
		case message, mapEntry:
			total += one.child.cost(r)
		default:
			total += scalarCost * int64(len(r.Bytes()))
		}
	}
	r.Leave(outer)
	return total
}

// enter enters the message. Entries of maps do not count as nested messages.
func (p *plan) enter(r *Reader) Outer {
	if p.entry {
		return r.Inside()
	}
	return r.Enter()
}

func (p *plan) of(number protowire.Number) part {
	if int(number) < len(p.fields) {
		return p.fields[number]
	}
	return p.others[number]
}
