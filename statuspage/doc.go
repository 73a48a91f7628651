// Package statuspage shows operators the state of the xDS clients, gRPC channels and gRPC servers of a
// program, as web pages and as JSON:
//
//	mux.Handle("/debug/xds/", statuspage.Handler())
//	go http.ListenAndServe("127.0.0.1:6060", mux)
//
// The pages answer: is everything healthy, and if not, because of which resource of which control plane?
// Which resources does a target need, and which one is missing? Why was a resource rejected, and how does
// it differ from the version in use? Which endpoints get calls? Which route does a call take?
//
// # JSON
//
// Each page is JSON for a request that accepts application/json, at the same address:
//
//	curl -H 'Accept: application/json' http://127.0.0.1:6060/debug/xds/
//
// # Safety
//
// The handler changes nothing and shows no secrets. It escapes all text, because control planes are
// untrusted. Browsers reach it only by an IP address, by localhost, or by the names in [Config.Hosts];
// this protects against DNS rebinding. It does not check who calls. Serve it on loopback, or behind a
// handler of yours that does.
package statuspage
