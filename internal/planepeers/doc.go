// Command planepeers runs control planes of other projects on this machine, without Kubernetes, and checks that the clients,
// channels and servers of this project work with them:
//
//	go run ./internal/planepeers istio
//	go run ./internal/planepeers gateway
//
// The Go command builds a control plane once, into the folder xdsforge/planes of the user's cache folder. This module does not
// depend on it. A run keeps its files in a temporary folder, listens on 127.0.0.1, and stops what it has started.
//
// A story with istiod is a sequence of changes of its configuration files. Each step waits until clients follow the change. Calls run
// during a story, and none of them may fail.
package main
