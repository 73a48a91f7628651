package fault

import (
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// The types of this file hold the fields that all profiles read of messages. Each has a method that
// reads the message at a reader's position, as generated views have. They take a third of the memory and of the time of
// the messages.

// A faultView holds fields of an HTTPFault.
type faultView struct {
	delay      delayView
	abort      abortView
	limited    bool // max_active_faults is set
	maxActives wire.Wrapper[uint32]
}

func (m *faultView) parse(r *wire.Reader) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | wire.Len:
			m.delay.parse(r)
		case 2<<3 | wire.Len:
			m.abort.parse(r)
		case 6<<3 | wire.Len:
			m.limited = true
			wire.UInt32Value(r, &m.maxActives)
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// The members of FaultDelay.fault_delay_secifier.
const (
	fixedDelay  = 3
	headerDelay = 5
)

// A delayView holds fields of a FaultDelay.
type delayView struct {
	set        bool
	member     uint32               // of fault_delay_secifier; 0: none
	fixed      *durationpb.Duration // of fixedDelay
	percentage percentView
}

func (m *delayView) parse(r *wire.Reader) {
	m.set = true
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case fixedDelay<<3 | wire.Len:
			if m.member != fixedDelay {
				m.fixed = new(durationpb.Duration)
			}
			m.member = fixedDelay
			wire.Duration(r, m.fixed)
		case headerDelay<<3 | wire.Len:
			m.member, m.fixed = headerDelay, nil
			r.Skip()
		case 4<<3 | wire.Len:
			m.percentage.parse(r)
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// The members of FaultAbort.error_type.
const (
	httpStatus  = 2
	headerAbort = 4
	grpcStatus  = 5
)

// An abortView holds fields of a FaultAbort.
type abortView struct {
	set        bool
	member     uint32 // of error_type; 0: none
	status     uint32 // the value of http_status or grpc_status
	percentage percentView
}

func (m *abortView) parse(r *wire.Reader) {
	m.set = true
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case httpStatus<<3 | wire.Varint, grpcStatus<<3 | wire.Varint:
			m.member = r.Tag() >> 3
			m.status = r.Uint32()
		case headerAbort<<3 | wire.Len:
			m.member, m.status = headerAbort, 0
			r.Skip()
		case 3<<3 | wire.Len:
			m.percentage.parse(r)
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// A percentView is a FractionalPercent. The zero value is an absent one, which is a fraction of 0.
type percentView struct {
	numerator   uint32
	denominator int32
}

func (m *percentView) parse(r *wire.Reader) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | wire.Varint:
			m.numerator = r.Uint32()
		case 2<<3 | wire.Varint:
			m.denominator = r.Int32()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// perMillion returns the fraction in parts of a million. It copies the fraction, because the conversion moves
// its argument to the heap.
func (m percentView) perMillion(p resource.Path, v *resource.Violations) uint32 {
	return convert.PerMillion(p, &m, v)
}

// GetNumerator returns the field of that name.
func (m *percentView) GetNumerator() uint32 { return m.numerator }

// GetDenominator returns the field of that name.
func (m *percentView) GetDenominator() typev3.FractionalPercent_DenominatorType {
	return typev3.FractionalPercent_DenominatorType(m.denominator)
}
