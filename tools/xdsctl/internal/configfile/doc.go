// Package configfile reads files of xDS resources and of bootstraps, and keeps the position of each
// value.
//
//	r := configfile.Reader{Types: types}
//	for _, item := range r.ReadFile("listeners.yaml").Items {
//		fmt.Println(item.Position(""), item.Resource.GetTypeUrl())
//	}
//
// A file is YAML, JSON, protobuf text or binary. It has a DiscoveryResponse, a
// DeltaDiscoveryResponse, a Resource, a bare message or a bootstrap. A YAML file may have several
// documents.
package configfile
