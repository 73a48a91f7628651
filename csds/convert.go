package csds

import (
	"strings"
	"time"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
)

// clientConfig returns the message for one client.
func clientConfig(s status.Snapshot) *statusv3.ClientConfig {
	c := &statusv3.ClientConfig{Node: s.Node, ClientScope: valid(s.Scope)}
	for i := range s.Resources {
		if r := &s.Resources[i]; !r.Collection {
			c.GenericXdsConfigs = append(c.GenericXdsConfigs, genericConfig(r))
		}
	}
	return c
}

// genericConfig returns the message for one resource. By gRFC A88, REQUESTED has neither a resource
// nor an error, and ACKED has no error. Every other state has an error, and the resource as long as it
// is in use. The error of a state is never that of an unreachable control plane, because data
// errors have precedence. A resource from the last known good store is marked as static.
func genericConfig(r *status.Resource) *statusv3.ClientConfig_GenericXdsConfig {
	state := adminv3.ClientResourceStatus(adminv3.ClientResourceStatus_value[r.State])
	g := &statusv3.ClientConfig_GenericXdsConfig{TypeUrl: "type.googleapis.com/" + r.Type, Name: valid(r.Name.String()), ClientStatus: state}
	if r.Update != nil {
		g.VersionInfo, g.LastUpdated = r.Version, timestamp(r.Updated)
		g.IsStaticResource = r.Origin == resource.OriginStored
		g.XdsConfig = &anypb.Any{TypeUrl: g.GetTypeUrl(), Value: r.Update.Raw()}
	}
	if r.Err == nil || state == adminv3.ClientResourceStatus_ACKED || state == adminv3.ClientResourceStatus_REQUESTED {
		return g
	}
	g.ErrorState = &adminv3.UpdateFailureState{Details: valid(r.Err.Error()), LastUpdateAttempt: timestamp(r.ErrAt)}
	if state == adminv3.ClientResourceStatus_NACKED {
		g.ErrorState.VersionInfo = r.RejectedVersion
	}
	return g
}

// timestamp returns nil for the zero time.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// valid returns text that protobuf can encode.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
