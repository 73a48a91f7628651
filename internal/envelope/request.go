package envelope

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// A Request is a state-of-the-world DiscoveryRequest.
type Request struct {
	Version string   // the last accepted version of the type
	Node    []byte   // encoded envoy.config.core.v3.Node; on a stream's first request only
	Names   []string // all subscribed resources of the type
	TypeURL string
	Nonce   string // of the response that is acknowledged or rejected
	Error   string // not empty: the response is rejected for this reason

	// Encoded holds the names as encoded by [EncodeNames]. It replaces Names.
	Encoded []byte
}

// EncodeNames encodes the names of a [Request], for several requests with the same names.
func EncodeNames(names []string) []byte {
	size := 0
	for _, n := range names {
		size += protowire.SizeTag(requestNames) + protowire.SizeBytes(len(n))
	}
	return appendStrings(make([]byte, 0, size), requestNames, names)
}

// Field numbers of envoy.service.discovery.v3.DiscoveryRequest and of
// google.rpc.Status.
const (
	requestVersion = 1
	requestNode    = 2
	requestNames   = 3
	requestTypeURL = 4
	requestNonce   = 5
	requestError   = 6

	statusCode    = 1
	statusMessage = 2

	codeInvalidArgument = 3
)

// Encode returns the encoded DiscoveryRequest.
func (r *Request) Encode() []byte {
	size := len(r.Version) + len(r.Node) + len(r.TypeURL) + len(r.Nonce) + len(r.Error) + len(r.Encoded) + 64
	for _, n := range r.Names {
		size += len(n) + 4
	}
	b := make([]byte, 0, size)
	b = appendString(b, requestVersion, r.Version)
	if r.Node != nil {
		b = protowire.AppendTag(b, requestNode, protowire.BytesType)
		b = protowire.AppendBytes(b, r.Node)
	}
	b = appendStrings(b, requestNames, r.Names)
	b = append(b, r.Encoded...)
	b = appendString(b, requestTypeURL, r.TypeURL)
	b = appendString(b, requestNonce, r.Nonce)
	return appendError(b, requestError, r.Error)
}

// appendError appends the reason of a rejection, as a google.rpc.Status.
func appendError(b []byte, number protowire.Number, reason string) []byte {
	if reason == "" {
		return b
	}
	status := protowire.AppendTag(nil, statusCode, protowire.VarintType)
	status = protowire.AppendVarint(status, codeInvalidArgument)
	status = appendString(status, statusMessage, reason)
	b = protowire.AppendTag(b, number, protowire.BytesType)
	return protowire.AppendBytes(b, status)
}

func appendStrings(b []byte, number protowire.Number, list []string) []byte {
	for _, s := range list {
		b = protowire.AppendTag(b, number, protowire.BytesType)
		b = protowire.AppendString(b, s)
	}
	return b
}

func appendString(b []byte, number protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	b = protowire.AppendTag(b, number, protowire.BytesType)
	return protowire.AppendString(b, s)
}

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
