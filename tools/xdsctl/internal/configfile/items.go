package configfile

import (
	"cmp"
	"fmt"
	"regexp"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/source/document"
)

const (
	urlPrefix    = "type.googleapis.com/"
	responseName = "envoy.service.discovery.v3.DiscoveryResponse"
	deltaName    = "envoy.service.discovery.v3.DeltaDiscoveryResponse"
	resourceName = "envoy.service.discovery.v3.Resource"
)

// errorAt is a position in an error of prototext.
var errorAt = regexp.MustCompile(`^proto: (?:syntax error )?(\(line \d+:\d+\))`)

// document returns the contents of a document.
func (r Reader) document(doc *node) []Item {
	if doc.Kind != document.Mapping {
		return []Item{{node: doc, Problems: []Problem{{Line: doc.Line, Column: doc.Column, Rule: "must be a mapping: a response, a resource or a bootstrap"}}}}
	}
	if doc.Get("@type") == nil && doc.Get("xds_servers", "authorities") != nil {
		return []Item{bootstrapItem(doc)}
	}
	name := r.nameOf(doc)
	if name == "" {
		return []Item{{node: doc, Problems: []Problem{{
			Line: doc.Line, Column: doc.Column, Path: "@type", Rule: "must be the type of the message; or name it by --type",
		}}}}
	}
	return r.resource(doc, name, "")
}

// nameOf returns the name of the message of a document: as it says, as the caller says, or by its
// fields.
func (r Reader) nameOf(doc *node) string {
	has := func(names ...string) bool { return doc.Get(names...) != nil }
	switch typ := doc.Get("@type"); {
	case typ != nil:
		return MessageName(typ.String())
	case r.Message != "":
		return r.Message
	case has("resources"):
		if list := doc.Get("resources"); list.Kind == document.Sequence && len(list.Values) > 0 && list.Values[0].Get("@type") == nil && list.Values[0].Get("resource") != nil {
			return deltaName
		}
		return responseName
	case has("resource"):
		return resourceName
	case has("virtual_hosts", "virtualHosts"):
		return "envoy.config.route.v3.RouteConfiguration"
	case has("cluster_name", "clusterName") && !has("name"):
		return "envoy.config.endpoint.v3.ClusterLoadAssignment"
	case has("api_listener", "apiListener", "filter_chains", "filterChains"):
		return "envoy.config.listener.v3.Listener"
	case has("eds_cluster_config", "edsClusterConfig", "cluster_type", "clusterType", "lb_policy", "lbPolicy", "load_assignment", "loadAssignment"):
		return "envoy.config.cluster.v3.Cluster"
	}
	return ""
}

// resource returns the resources of a message with the given name.
func (r Reader) resource(n *node, name, path string) []Item {
	switch name {
	case responseName, deltaName:
		return r.response(n, name, path)
	case resourceName:
		return r.wrapper(n, path)
	}
	item := Item{Path: path, Message: name, node: n}
	typ, err := r.Types.FindMessageByURL(name)
	if err != nil {
		at := n
		if t := n.Get("@type"); t != nil {
			at = t
		}
		item.Problems = []Problem{{
			Line: at.Line, Column: at.Column, Path: path, Warning: true,
			Rule: fmt.Sprintf("the message %s is unknown, so that nothing of it is checked; give its descriptor set by --descriptor-set", name),
		}}
		return []Item{item}
	}
	body := n
	if t := n.Get("@type"); t != nil {
		body = n.Without(t)
	}
	m := typ.New().Interface()
	item.problems(r.Types, body, m)
	if item.failed() {
		return []Item{item}
	}
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		item.Problems = append(item.Problems, Problem{Line: n.Line, Column: n.Column, Rule: err.Error()})
		return []Item{item}
	}
	item.Resource = &anypb.Any{TypeUrl: urlPrefix + name, Value: value}
	return []Item{item}
}

// problems reads a message, and adds its problems.
func (i *Item) problems(t *Types, n *node, m proto.Message) {
	problems, unknown := t.unmarshal(n, m)
	i.Problems = append(i.Problems, problems...)
	for _, u := range unknown {
		i.Problems = append(i.Problems, Problem{
			Line: u.Line, Column: u.Column, Path: n.PathOf(u), Warning: true,
			Rule: fmt.Sprintf("the message %s is unknown, so that its fields are not checked; give its descriptor set by --descriptor-set", MessageName(u.String())),
		})
	}
}

func (i *Item) failed() bool {
	for _, p := range i.Problems {
		if !p.Warning {
			return true
		}
	}
	return false
}

// response returns the resources of a response, each read separately.
func (r Reader) response(n *node, name, path string) []Item {
	list := n.Get("resources")
	if list == nil || list.Kind != document.Sequence {
		list = &node{Kind: document.Sequence}
	}
	var m proto.Message = new(discoveryv3.DiscoveryResponse)
	if name == deltaName {
		m = new(discoveryv3.DeltaDiscoveryResponse)
	}
	head := Item{Path: path, node: n}
	rest := n
	for _, drop := range []*node{n.Get("@type"), n.Get("resources")} {
		if drop != nil && (drop == list || drop.Kind == document.Scalar) {
			rest = rest.Without(drop)
		}
	}
	head.problems(r.Types, rest, m)
	var items []Item
	if len(head.Problems) > 0 {
		items = append(items, head)
	}
	version := ""
	if sotw, ok := m.(*discoveryv3.DiscoveryResponse); ok {
		version = sotw.GetVersionInfo()
	}
	for i, v := range list.Values {
		at := join(path, fmt.Sprintf("resources[%d]", i))
		for _, item := range r.element(v, name, at) {
			if item.Version == "" {
				item.Version = version
			}
			items = append(items, item)
		}
	}
	return items
}

// element returns an element of a response's resources.
func (r Reader) element(v *node, name, at string) []Item {
	if name == deltaName {
		return r.wrapper(v, at)
	}
	typ := v.Get("@type")
	if typ == nil {
		return []Item{{Path: at, node: v, Problems: []Problem{{Line: v.Line, Column: v.Column, Path: at, Rule: `must have "@type", as each Any`}}}}
	}
	return r.resource(v, MessageName(typ.String()), at)
}

// wrapper returns the resource in an envoy.service.discovery.v3.Resource.
func (r Reader) wrapper(n *node, path string) []Item {
	inner := n.Get("resource")
	head, m := Item{Path: path, node: n}, new(discoveryv3.Resource)
	rest := n
	for _, drop := range []*node{n.Get("@type"), inner} {
		if drop != nil {
			rest = rest.Without(drop)
		}
	}
	head.problems(r.Types, rest, m)
	if inner == nil || inner.Get("@type") == nil {
		head.Problems = append(head.Problems, Problem{Line: n.Line, Column: n.Column, Path: join(path, "resource"), Rule: `must be set, with "@type"`})
	}
	if head.failed() {
		return []Item{head}
	}
	items := r.resource(inner, MessageName(inner.Get("@type").String()), join(path, "resource"))
	for i := range items {
		items[i].Name, items[i].Version = m.GetName(), m.GetVersion()
	}
	return items
}

// maxWrappers is the limit of messages around a resource: a response, and a Resource in it.
const maxWrappers = 3

// unwrap returns the resources of an encoded message.
func unwrap(a *anypb.Any, depth int) []Item {
	var items []Item
	add := func(path string, a *anypb.Any, name, version string) {
		for _, item := range unwrap(a, depth+1) {
			item.Path = join(path, item.Path)
			item.Name, item.Version = cmp.Or(item.Name, name), cmp.Or(item.Version, version)
			items = append(items, item)
		}
	}
	bad := func(err error) []Item { return []Item{{Problems: []Problem{{Rule: err.Error()}}}} }
	if depth > maxWrappers {
		return bad(fmt.Errorf("the resource has more than %d messages around it", maxWrappers))
	}
	switch MessageName(a.GetTypeUrl()) {
	case responseName:
		m := new(discoveryv3.DiscoveryResponse)
		if err := proto.Unmarshal(a.GetValue(), m); err != nil {
			return bad(err)
		}
		for i, r := range m.GetResources() {
			add(fmt.Sprintf("resources[%d]", i), r, "", m.GetVersionInfo())
		}
	case deltaName:
		m := new(discoveryv3.DeltaDiscoveryResponse)
		if err := proto.Unmarshal(a.GetValue(), m); err != nil {
			return bad(err)
		}
		for i, r := range m.GetResources() {
			add(fmt.Sprintf("resources[%d].resource", i), r.GetResource(), r.GetName(), r.GetVersion())
		}
	case resourceName:
		m := new(discoveryv3.Resource)
		if err := proto.Unmarshal(a.GetValue(), m); err != nil {
			return bad(err)
		}
		add("resource", m.GetResource(), m.GetName(), m.GetVersion())
	default:
		return []Item{{Resource: a, Message: MessageName(a.GetTypeUrl())}}
	}
	return items
}

func join(path, more string) string {
	if path == "" || more == "" {
		return path + more
	}
	return path + "." + more
}

// bootstrapItem returns the item of a bootstrap.
func bootstrapItem(doc *node) Item {
	var e emitter
	e.node(doc)
	return Item{Bootstrap: []byte(e.out.String()), node: doc}
}
