package envelope

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// A DeltaRequest is a DeltaDiscoveryRequest.
type DeltaRequest struct {
	Node        []byte // encoded envoy.config.core.v3.Node; on a stream's first request only
	TypeURL     string
	Subscribe   []string // names to subscribe to
	Unsubscribe []string // names to unsubscribe from
	// Versions are the versions of resources that the client still holds from an earlier stream, by
	// name. They are sent only in a type's first request.
	Versions map[string]string
	Nonce    string // of the response that is acknowledged or rejected
	Error    string // not empty: the response is rejected for this reason
}

// Field numbers of envoy.service.discovery.v3.DeltaDiscoveryRequest and of its
// map entries.
const (
	deltaRequestNode        = 1
	deltaRequestTypeURL     = 2
	deltaRequestSubscribe   = 3
	deltaRequestUnsubscribe = 4
	deltaRequestVersions    = 5
	deltaRequestNonce       = 6
	deltaRequestError       = 7

	entryKey   = 1
	entryValue = 2
)

// Encode returns the encoded DeltaDiscoveryRequest.
func (r *DeltaRequest) Encode() []byte {
	size := len(r.Node) + len(r.TypeURL) + len(r.Nonce) + len(r.Error) + 64
	for _, n := range r.Subscribe {
		size += len(n) + 4
	}
	for _, n := range r.Unsubscribe {
		size += len(n) + 4
	}
	for n, v := range r.Versions {
		size += len(n) + len(v) + 12
	}
	b := make([]byte, 0, size)
	if r.Node != nil {
		b = protowire.AppendTag(b, deltaRequestNode, protowire.BytesType)
		b = protowire.AppendBytes(b, r.Node)
	}
	b = appendString(b, deltaRequestTypeURL, r.TypeURL)
	b = appendStrings(b, deltaRequestSubscribe, r.Subscribe)
	b = appendStrings(b, deltaRequestUnsubscribe, r.Unsubscribe)
	for n, v := range r.Versions {
		b = protowire.AppendTag(b, deltaRequestVersions, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(2+protowire.SizeBytes(len(n))+protowire.SizeBytes(len(v)))) //nolint:gosec // not negative
		b = protowire.AppendTag(b, entryKey, protowire.BytesType)
		b = protowire.AppendString(b, n)
		b = protowire.AppendTag(b, entryValue, protowire.BytesType)
		b = protowire.AppendString(b, v)
	}
	b = appendString(b, deltaRequestNonce, r.Nonce)
	return appendError(b, deltaRequestError, r.Error)
}
