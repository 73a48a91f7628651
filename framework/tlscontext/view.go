package tlscontext

import (
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// The types of this file hold the fields that this package reads of messages. Each has a method
// that reads the message at a reader's position, as generated views have. Repeated occurrences of a
// field are merged as protobuf merges them.

// A clientView holds fields of an UpstreamTlsContext.
type clientView struct {
	common           commonView
	sni              string
	autoSNI, autoSAN bool
}

func (m *clientView) parse(r *wire.Reader) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | wire.Len:
			m.common.parse(r)
		case 2<<3 | wire.Len:
			m.sni = r.String()
		case 6<<3 | wire.Varint:
			m.autoSNI = r.Bool()
		case 7<<3 | wire.Varint:
			m.autoSAN = r.Bool()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// A serverView holds fields of a DownstreamTlsContext.
type serverView struct {
	common        commonView
	requireClient bool
	requireSNI    bool
	staple        int32
}

func (m *serverView) parse(r *wire.Reader) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | wire.Len:
			m.common.parse(r)
		case 2<<3 | wire.Len:
			parseBool(r, &m.requireClient)
		case 3<<3 | wire.Len:
			parseBool(r, &m.requireSNI)
		case 8<<3 | wire.Varint:
			m.staple = r.Int32()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// ocspStaplePolicy returns the field of that name.
func (m *serverView) ocspStaplePolicy() tlsv3.DownstreamTlsContext_OcspStaplePolicy {
	return tlsv3.DownstreamTlsContext_OcspStaplePolicy(m.staple)
}

// parseBool reads a google.protobuf.BoolValue.
func parseBool(r *wire.Reader, to *bool) {
	outer := r.Enter()
	for r.Next() {
		if r.Tag() == 1<<3|wire.Varint {
			*to = r.Bool()
		} else {
			r.Skip()
		}
	}
	r.Leave(outer)
}

// The members of CommonTlsContext.validation_context_type.
const (
	validationContext  = 3
	sdsSecret          = 7
	combinedContext    = 8
	validationProvider = 10
	validationInstance = 12
)

// A commonView holds fields of a CommonTlsContext.
type commonView struct {
	set                  bool
	params, handshaker   bool
	selector             bool
	certificates, sds    bool // present
	provider             instanceView
	older                instanceView // tls_certificate_certificate_provider_instance
	member               uint32       // of validation_context_type; 0: none
	validation, combined validationView
	combinedOlder        instanceView
	instance             instanceView
}

func (m *commonView) parse(r *wire.Reader) {
	m.set = true
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | wire.Len:
			m.params = true
			r.Skip()
		case 2<<3 | wire.Len:
			m.certificates = true
			r.Skip()
		case 6<<3 | wire.Len:
			m.sds = true
			r.Skip()
		case 11<<3 | wire.Len:
			m.older.parse(r)
		case 13<<3 | wire.Len:
			m.handshaker = true
			r.Skip()
		case 16<<3 | wire.Len:
			m.selector = true
			r.Skip()
		case 14<<3 | wire.Len:
			m.provider.parse(r)
		case validationContext<<3 | wire.Len, sdsSecret<<3 | wire.Len, combinedContext<<3 | wire.Len,
			validationProvider<<3 | wire.Len, validationInstance<<3 | wire.Len:
			m.parseMember(r)
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// parseMember reads a member of validation_context_type. It replaces any other member.
func (m *commonView) parseMember(r *wire.Reader) {
	if number := r.Tag() >> 3; number != m.member {
		m.member = number
		m.validation, m.combined, m.combinedOlder, m.instance = validationView{}, validationView{}, instanceView{}, instanceView{}
	}
	switch m.member {
	case validationContext:
		m.validation.parse(r)
	case combinedContext:
		m.parseCombined(r)
	case validationInstance:
		m.instance.parse(r)
	default:
		r.Skip()
	}
}

func (m *commonView) parseCombined(r *wire.Reader) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | wire.Len:
			m.combined.parse(r)
		case 4<<3 | wire.Len:
			m.combinedOlder.parse(r)
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// A validationView holds fields of a CertificateValidationContext.
type validationView struct {
	provider    instanceView
	systemRoots bool
	sct         bool
	spki, hash  bool // present
	typedSANs   bool
	crl, custom bool
	depth       depthView
	sans        []matcher.StringParts
}

func (m *validationView) parse(r *wire.Reader) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 6<<3 | wire.Len:
			parseBool(r, &m.sct)
		case 9<<3 | wire.Len:
			wire.Element[matcher.String](&m.sans, r).Read(r)
		case 13<<3 | wire.Len:
			m.provider.parse(r)
		case 16<<3 | wire.Len:
			m.depth.parse(r)
		default:
			m.note(r.Tag())
			r.Skip()
		}
	}
	r.Leave(outer)
}

// note records the presence of a field that is not read otherwise.
func (m *validationView) note(tag uint32) {
	switch tag {
	case 2<<3 | wire.Len:
		m.hash = true
	case 3<<3 | wire.Len:
		m.spki = true
	case 7<<3 | wire.Len:
		m.crl = true
	case 12<<3 | wire.Len:
		m.custom = true
	case 15<<3 | wire.Len:
		m.typedSANs = true
	case 17<<3 | wire.Len:
		m.systemRoots = true
	}
}

// A depthView holds max_verify_depth, a google.protobuf.UInt32Value.
type depthView struct {
	set   bool
	value uint32
}

func (m *depthView) parse(r *wire.Reader) {
	m.set = true
	outer := r.Enter()
	for r.Next() {
		if r.Tag() == 1<<3|wire.Varint {
			m.value = r.Uint32()
		} else {
			r.Skip()
		}
	}
	r.Leave(outer)
}

// An instanceView holds fields of a CertificateProviderPluginInstance, or of the message that
// preceded it.
type instanceView struct {
	set bool
	Instance
}

func (m *instanceView) parse(r *wire.Reader) {
	m.set = true
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | wire.Len:
			m.Provider = r.String()
		case 2<<3 | wire.Len:
			m.Certificate = r.String()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}
