package adsserver

import (
	"slices"
	"strings"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A content is one version of a resource, or the error in its place. All streams share it. Its
// encodings are made when they are first needed.
type content struct {
	stamp   uint64 // unique; identifies the content on a stream
	name    string
	version string
	body    []byte
	aliases []string
	expires time.Time
	ttl     time.Duration
	err     *rpcstatus.Status
	late    bool      // err is that of a failure
	batch   uint64    // the last batch of the core that has it
	due     int64     // time of the next event in timers, in ns since 1970
	beat    time.Time // of the next heartbeat; only a heartbeat moves it

	delta []byte // as a field of a DeltaDiscoveryResponse
	whole []byte // as a field of a DiscoveryResponse
}

// errorStamp is a bit of the stamps of errors. A client that has an error in the place of a resource does not have it.
const errorStamp = 1 << 63

// hasResource reports whether a client with the content of a stamp has a resource.
func hasResource(stamp uint64) bool {
	return stamp != 0 && (stamp&errorStamp == 0 || stamp == older)
}

// newContent returns a content with the resource, without the aliases that belong to another authority: a source and
// a permission are for authorities.
func newContent(r *source.Resource, stamp uint64) *content {
	aliases := r.Aliases
	foreign := func(a string) bool { return !sameAuthority(r.Name, a) }
	if slices.ContainsFunc(aliases, foreign) {
		aliases = slices.DeleteFunc(slices.Clone(aliases), foreign)
	}
	if r.Err != nil {
		stamp |= errorStamp
	}
	return &content{
		stamp: stamp, name: r.Name, version: r.Version, body: r.Body, aliases: aliases,
		expires: r.Expires, ttl: r.TTL, err: r.Err,
	}
}

// sameAuthority reports whether two names are valid and have the same authority.
func sameAuthority(a, b string) bool {
	if !strings.HasPrefix(a, "xdstp:") && !strings.HasPrefix(b, "xdstp:") {
		return true
	}
	x, err := xdstp.Parse(a)
	if err != nil {
		return false
	}
	y, err := xdstp.Parse(b)
	return err == nil && x.SameAuthority(y)
}

// Field numbers of envoy.service.discovery.v3.
const (
	responseVersion   = 1
	responseResources = 2
	responseTypeURL   = 4
	responseNonce     = 5
	responseErrors    = 7

	deltaRemoved = 6
	deltaErrors  = 9

	resourceVersion = 1
	resourceAny     = 2
	resourceName    = 3
	resourceAliases = 4
	resourceTTL     = 6

	errorName   = 1
	errorDetail = 2

	anyTypeURL = 1
	anyValue   = 2

	wrapperURL = "type.googleapis.com/envoy.service.discovery.v3.Resource"
)

// field returns the encoding of the content in a response of a variant of the protocol.
func (x *content) field(k *kind, delta bool) []byte {
	cached := &x.whole
	if delta {
		cached = &x.delta
	}
	if *cached == nil {
		*cached = x.encode(k, delta)
	}
	return *cached
}

// encoded reports whether there is the encoding for a variant of the protocol.
func (x *content) encoded(delta bool) bool {
	return delta && x.delta != nil || !delta && x.whole != nil
}

// parts returns the cost of an encoding, as a number of small resources.
func (x *content) parts() int { return 1 + len(x.body)>>12 }

func (x *content) encode(k *kind, delta bool) []byte {
	switch {
	case x.err != nil && delta:
		return x.appendError(nil, deltaErrors)
	case x.err != nil:
		return x.appendError(nil, responseErrors)
	case delta:
		return x.appendWrapper(make([]byte, 0, x.size(k)), k, responseResources, true, true)
	case k.wraps(x):
		return x.appendWrapped(make([]byte, 0, x.size(k)+len(wrapperURL)+16), k, true)
	}
	b := make([]byte, 0, len(k.url)+len(x.body)+24)
	b = appendTag(b, responseResources)
	b = protowire.AppendVarint(b, uint64(anySize(k.url, len(x.body)))) //nolint:gosec // a length
	return appendAny(b, k.url, x.body)
}

// wraps reports whether a state-of-the-world response must have the resource in a wrapper.
func (k *kind) wraps(x *content) bool {
	if k.Wrapped || x.ttl > 0 || len(x.aliases) > 0 {
		return true
	}
	if k.PeekName == nil {
		return false
	}
	own, err := k.PeekName(x.body)
	return err != nil || own != x.name
}

func (x *content) size(k *kind) int {
	n := len(x.name) + len(x.version) + len(k.url) + len(x.body) + 48
	for _, a := range x.aliases {
		n += len(a) + 4
	}
	return n
}

// appendWrapper appends a Resource as a field. A heartbeat has no body.
func (x *content) appendWrapper(b []byte, k *kind, number protowire.Number, version, body bool) []byte {
	w := x.wrapper(k, version, body)
	b = appendTag(b, number)
	b = protowire.AppendVarint(b, uint64(len(w)+x.anyField(k, body))) //nolint:gosec // a length
	b = append(b, w...)
	if body {
		b = appendTag(b, resourceAny)
		b = protowire.AppendVarint(b, uint64(anySize(k.url, len(x.body)))) //nolint:gosec // a length
		b = appendAny(b, k.url, x.body)
	}
	return b
}

// anyField returns the size of the field with the body.
func (x *content) anyField(k *kind, body bool) int {
	if !body {
		return 0
	}
	return protowire.SizeTag(resourceAny) + protowire.SizeBytes(anySize(k.url, len(x.body)))
}

// wrapper returns the fields of a Resource, without the body.
func (x *content) wrapper(_ *kind, version, _ bool) []byte {
	var w []byte
	if version {
		w = appendString(w, resourceVersion, x.version)
	}
	w = appendString(w, resourceName, x.name)
	for _, a := range x.aliases {
		w = appendString(w, resourceAliases, a)
	}
	if x.ttl > 0 {
		var d []byte
		d = protowire.AppendTag(d, 1, protowire.VarintType)
		d = protowire.AppendVarint(d, uint64(x.ttl/time.Second))
		d = protowire.AppendTag(d, 2, protowire.VarintType)
		d = protowire.AppendVarint(d, uint64(x.ttl%time.Second))
		w = appendTag(w, resourceTTL)
		w = protowire.AppendBytes(w, d)
	}
	return w
}

// appendWrapped appends a Resource in an Any, for the state of the world.
func (x *content) appendWrapped(b []byte, k *kind, body bool) []byte {
	w := x.appendWrapper(nil, k, 1, true, body)
	_, _, n := protowire.ConsumeTag(w)
	inner, _ := protowire.ConsumeBytes(w[n:])
	b = appendTag(b, responseResources)
	b = protowire.AppendVarint(b, uint64(anySize(wrapperURL, len(inner)))) //nolint:gosec // a length
	return appendAny(b, wrapperURL, inner)
}

// heartbeat appends a response's field that renews the TTL.
func (x *content) heartbeat(b []byte, k *kind, delta bool) []byte {
	if delta {
		return x.appendWrapper(b, k, responseResources, true, false)
	}
	return x.appendWrapped(b, k, false)
}

func (x *content) appendError(b []byte, number protowire.Number) []byte {
	detail, _ := proto.Marshal(x.err) // strings of an invalid encoding become an empty status
	var e []byte
	e = appendTag(e, errorName)
	e = protowire.AppendBytes(e, appendString(nil, 1, x.name))
	e = appendTag(e, errorDetail)
	e = protowire.AppendBytes(e, detail)
	b = appendTag(b, number)
	return protowire.AppendBytes(b, e)
}

func anySize(url string, body int) int {
	n := protowire.SizeTag(anyTypeURL) + protowire.SizeBytes(len(url))
	if body > 0 {
		n += protowire.SizeTag(anyValue) + protowire.SizeBytes(body)
	}
	return n
}

func appendAny(b []byte, url string, body []byte) []byte {
	b = appendString(b, anyTypeURL, url)
	if len(body) > 0 {
		b = appendTag(b, anyValue)
		b = protowire.AppendBytes(b, body)
	}
	return b
}

func appendTag(b []byte, number protowire.Number) []byte {
	return protowire.AppendTag(b, number, protowire.BytesType)
}

func appendString(b []byte, number protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(appendTag(b, number), s)
}
