package envelope_test

import (
	"fmt"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/internal/envelope"
)

// The parser walks a response in place. Bodies alias the received bytes.
func ExampleParseResponse() {
	raw, _ := proto.Marshal(&discoveryv3.DiscoveryResponse{
		VersionInfo: "7", Nonce: "a", TypeUrl: "type.googleapis.com/acme.v1.Limit",
		Resources: []*anypb.Any{{TypeUrl: "type.googleapis.com/acme.v1.Limit", Value: []byte("…")}},
	})
	response, err := envelope.ParseResponse(raw)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(response.Version, response.Nonce)
	for r := range response.Resources() {
		fmt.Println(envelope.MessageName(r.TypeURL), len(r.Body), "bytes")
	}
	// Output:
	// 7 a
	// acme.v1.Limit 3 bytes
}
