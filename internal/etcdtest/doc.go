// Package etcdtest tests the store of etcd on clusters of real nodes. Each node is a process of its own, so that tests can
// kill and stop it. The module is apart from the store's, because it links the server of etcd.
package etcdtest
