package capture

import (
	"fmt"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/transport"
)

// repeat answers a client that asks for names after the script of their type has ended, with the
// newest content that was sent. The recorded client asked for these names earlier.
func (p *player) repeat(t *progress) error {
	missing := t.missing
	t.missing = nil
	if len(t.sent) == 0 {
		return nil
	}
	t.repeats++
	nonce := fmt.Sprintf("repeated-%d", t.repeats)
	var m proto.Message
	var err error
	if p.method == transport.MethodDeltaADS {
		m, err = repeatDelta(t.sent, missing, nonce)
	} else {
		m, err = repeatState(t.sent, nonce)
	}
	if err != nil || m == nil {
		return err
	}
	data, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	t.awaiting = nonce
	p.log("%s", Describe(Message{Method: p.method, Kind: Received, Bytes: data}))
	return p.stream.Send(data)
}

// repeatState returns the last response, with the resources of those before that it lacks. A response
// with all Listeners or Clusters lacks the ones that are gone.
func repeatState(sent [][]byte, nonce string) (proto.Message, error) {
	last := new(discoveryv3.DiscoveryResponse)
	if err := proto.Unmarshal(sent[len(sent)-1], last); err != nil {
		return nil, err
	}
	last.Nonce = nonce
	if name := short(last.GetTypeUrl()); name == "Listener" || name == "Cluster" {
		return last, nil
	}
	have := make(map[string]bool)
	for _, r := range last.GetResources() {
		have[nameOf(r)] = true
	}
	for _, data := range slices.Backward(sent[:len(sent)-1]) {
		m := new(discoveryv3.DiscoveryResponse)
		if err := proto.Unmarshal(data, m); err != nil {
			return nil, err
		}
		for _, r := range m.GetResources() {
			if name := nameOf(r); !have[name] {
				have[name] = true
				last.Resources = append(last.Resources, r)
			}
		}
	}
	return last, nil
}

// repeatDelta returns the newest state of resources; nil if none of them was sent.
func repeatDelta(sent [][]byte, names []string, nonce string) (proto.Message, error) {
	out := &discoveryv3.DeltaDiscoveryResponse{Nonce: nonce}
	found := make(map[string]bool)
	for _, data := range slices.Backward(sent) {
		m := new(discoveryv3.DeltaDiscoveryResponse)
		if err := proto.Unmarshal(data, m); err != nil {
			return nil, err
		}
		if out.TypeUrl == "" {
			out.TypeUrl, out.SystemVersionInfo = m.GetTypeUrl(), m.GetSystemVersionInfo()
		}
		for _, r := range m.GetResources() {
			if slices.Contains(names, r.GetName()) && !found[r.GetName()] {
				found[r.GetName()] = true
				out.Resources = append(out.Resources, r)
			}
		}
		for _, name := range m.GetRemovedResources() {
			if slices.Contains(names, name) && !found[name] {
				found[name] = true
				out.RemovedResources = append(out.RemovedResources, name)
			}
		}
	}
	if len(found) == 0 {
		return nil, nil //nolint:nilnil // nothing to send
	}
	return out, nil
}

// nameOf returns the name of a resource, or its bytes if it has none.
func nameOf(a *anypb.Any) string {
	m, err := a.UnmarshalNew()
	if err != nil {
		return string(a.GetValue())
	}
	if r, ok := m.(*discoveryv3.Resource); ok {
		return r.GetName()
	}
	for _, field := range []protoreflect.Name{"name", "cluster_name"} {
		if fd := m.ProtoReflect().Descriptor().Fields().ByName(field); fd != nil && fd.Kind() == protoreflect.StringKind && !fd.IsList() {
			return m.ProtoReflect().Get(fd).String()
		}
	}
	return string(a.GetValue())
}
