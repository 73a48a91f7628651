package etcd

import (
	"fmt"
	"strconv"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/versiontext"
)

// The names of typed_filter_metadata in the value of a resource.
const (
	fieldExpires  = "xdsforge.expires"  // google.protobuf.Timestamp
	fieldError    = "xdsforge.error"    // google.rpc.Status
	fieldRevision = "xdsforge.revision" // google.protobuf.UInt64Value: of the large transaction that put the resource
)

// wrap returns the message of a resource. Its name is "TYPE URL/NAME".
func wrap(r *source.Resource) (*discoveryv3.Resource, error) {
	w := &discoveryv3.Resource{Name: r.Type + "/" + r.Name, Version: r.Version, Aliases: r.Aliases}
	if w.Version == "" {
		w.Version = source.Version(r)
	}
	if r.Err == nil {
		w.Resource = &anypb.Any{TypeUrl: r.Type, Value: r.Body}
	} else if err := annotate(w, fieldError, r.Err); err != nil {
		return nil, err
	}
	if r.TTL > 0 {
		w.Ttl = durationpb.New(r.TTL)
	}
	if !r.Expires.IsZero() {
		if err := annotate(w, fieldExpires, timestamppb.New(r.Expires)); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func annotate(w *discoveryv3.Resource, field string, m proto.Message) error {
	a, err := anypb.New(m)
	if err != nil {
		return fmt.Errorf("etcd: %s: %w", field, err)
	}
	if w.Metadata == nil {
		w.Metadata = &corev3.Metadata{TypedFilterMetadata: make(map[string]*anypb.Any)}
	}
	w.Metadata.TypedFilterMetadata[field] = a
	return nil
}

// encode returns the value of a message.
func encode(w *discoveryv3.Resource) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(w)
}

// An entry is a resource in the store.
type entry struct {
	source.Resource
	revision int64 // of the commit that put it
}

// decode returns the resource in a value. The revision is that of the key.
func decode(k source.Key, value []byte, revision int64) (entry, error) {
	var w discoveryv3.Resource
	if err := proto.Unmarshal(value, &w); err != nil {
		return entry{}, fmt.Errorf("etcd: the value of %s; must be an envoy.service.discovery.v3.Resource: %w", k, err)
	}
	return unwrap(k, &w, revision)
}

// unwrap returns the resource of a message.
func unwrap(k source.Key, w *discoveryv3.Resource, revision int64) (entry, error) {
	e := entry{revision: revision}
	e.Key = k
	var of wrapperspb.UInt64Value
	if err := annotation(w, fieldRevision, &of); err != nil {
		return e, err
	} else if of.GetValue() > 0 {
		e.revision = int64(of.GetValue()) //nolint:gosec // a revision of etcd
	}
	var expires timestamppb.Timestamp
	if found := w.GetMetadata().GetTypedFilterMetadata()[fieldExpires] != nil; found {
		if err := annotation(w, fieldExpires, &expires); err != nil {
			return e, err
		}
		e.Expires = expires.AsTime()
	}
	if w.GetMetadata().GetTypedFilterMetadata()[fieldError] != nil {
		e.Err = new(rpcstatus.Status)
		if err := annotation(w, fieldError, e.Err); err != nil {
			return e, err
		}
	} else {
		if t := w.GetResource().GetTypeUrl(); t != k.Type {
			return e, fmt.Errorf("etcd: the value of %s has type %q; must be the type of the key", k, t)
		}
		if e.Body = w.GetResource().GetValue(); e.Body == nil {
			e.Body = []byte{}
		}
	}
	e.Aliases, e.TTL = w.GetAliases(), w.GetTtl().AsDuration()
	digest := versiontext.Digest(w.GetVersion())
	if digest == "" { // absent, or a text of the program
		digest = source.Version(&e.Resource)
	}
	e.Version = strconv.FormatInt(e.revision, 36) + "-" + digest
	if err := new(source.Tx).Put(e.Resource).Check(); err != nil {
		return e, err
	}
	return e, nil
}

// annotation reads a field of the metadata. A field that is absent leaves the message as it is.
func annotation(w *discoveryv3.Resource, field string, m proto.Message) error {
	a := w.GetMetadata().GetTypedFilterMetadata()[field]
	if a == nil {
		return nil
	}
	if err := a.UnmarshalTo(m); err != nil {
		return fmt.Errorf("etcd: %s: %w", field, err)
	}
	return nil
}

// alive reports whether a resource has not expired.
func (e *entry) alive(now time.Time) bool { return e.Expires.IsZero() || now.Before(e.Expires) }
