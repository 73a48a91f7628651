package envelope

import "google.golang.org/protobuf/encoding/protowire"

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
