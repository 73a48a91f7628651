package resource_test

import (
	"fmt"

	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// One line defines a resource type for a message. The example reads the name of a resource and
// decodes it, as a client does.
func ExampleRaw() {
	secrets := resource.Raw((*tlsv3.Secret).GetName)

	body, _ := proto.Marshal(&tlsv3.Secret{Name: "server"})
	peeked, _ := secrets.PeekName(body)
	name, _ := xdstp.Parse(peeked)
	u, err := secrets.Decode(&resource.DecodeContext{Name: name}, body)
	fmt.Println(u.Name(), u.Message().GetName(), err)
	// Output: server server <nil>
}
