package source

import (
	"context"
	"strings"
	"testing"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
)

// put returns a transaction with the put of a resource whose fields change has set.
func put(change func(*Resource)) *Tx {
	r := res("a", "1")
	change(&r)
	return new(Tx).Put(r)
}

// A transaction at a bound is valid. One step further it is not, and the error names the value and the bound.
func TestBoundsOfATransaction(t *testing.T) {
	name := func(n int) string { return strings.Repeat("n", n) }
	for rule, test := range map[string]struct {
		tx   func(n int) *Tx
		most int
		want string
	}{
		"name": {func(n int) *Tx { return put(func(r *Resource) { r.Name = name(n) }) }, MaxName, "name = 8193 bytes, type = 51 bytes; must not be more than 8192"},
		"type": {
			func(n int) *Tx { return put(func(r *Resource) { r.Type = "a/" + name(n-2) }) }, MaxName,
			"name = 1 bytes, type = 8193 bytes; must not be more than 8192",
		},
		"body": {func(n int) *Tx { return put(func(r *Resource) { r.Body = make([]byte, n) }) }, MaxBody, "body = 16777217 bytes; must not be more than 16777216"},
		"aliases": {
			func(n int) *Tx { return put(func(r *Resource) { r.Aliases = strings.Split(name(n), "") }) }, MaxAliases,
			"aliases = 101; must not be more than 100",
		},
		"version": {func(n int) *Tx { return put(func(r *Resource) { r.Version = name(n) }) }, MaxName, "version = 8193 bytes; must not be more than 8192"},
		"alias":   {func(n int) *Tx { return put(func(r *Resource) { r.Aliases = []string{name(n)} }) }, MaxName, "alias = 8193 bytes; must not be more than 8192"},
	} {
		if err := test.tx(test.most).Check(); err != nil {
			t.Errorf("%s: Check rejects a transaction at the bound: %v", rule, err)
		}
		if err := test.tx(test.most + 1).Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Check of a transaction above the bound = %v, want %q", rule, err, test.want)
		}
	}
}

// Operations and conditions count together.
func TestLargestTransaction(t *testing.T) {
	tx := &Tx{operations: make([]Operation, MaxOperations-1), conditions: make([]Condition, 1)}
	for i := range tx.operations {
		tx.operations[i] = Operation{Resource: Resource{Key: Key{clusterURL, "a"}}, Delete: true}
	}
	tx.conditions[0].Key = Key{clusterURL, "a"}
	if err := tx.Check(); err != nil {
		t.Errorf("Check rejects %d operations and conditions: %v", MaxOperations, err)
	}
	want := "source: transaction = 1000001 operations and conditions; must not be more than 1000000"
	if err := tx.If(Key{clusterURL, "b"}, 0).Check(); err == nil || err.Error() != want {
		t.Errorf("Check of one more condition = %v, want %q", err, want)
	}
}

// An error names the operation by its number and its key, and the rule.
func TestErrorsOfATransaction(t *testing.T) {
	for want, tx := range map[string]*Tx{
		`source: operation 2, "envoy.config.cluster.v3.Cluster" "": name = ""; must be the name of one resource`: put(func(*Resource) {}).Put(res("", "")),
		`source: condition on "envoy.config.cluster.v3.Cluster" "": name = ""; must be the name of one resource`: new(Tx).If(Key{clusterURL, ""}, 0),
		`operation 1, "Cluster" "a": type; must be a type URL, such as`:                                          new(Tx).Delete(Key{"Cluster", "a"}),
		`operation 1, "" "a": type; must be a type URL, such as`:                                                 new(Tx).Delete(Key{"type.googleapis.com/", "a"}),
		`must be envoy.config.cluster.v3.Cluster, the requested type`:                                            new(Tx).Delete(Key{clusterURL, "xdstp://a/other.Type/a"}),
		`name; must be UTF-8`:                                         new(Tx).Delete(Key{clusterURL, "\xff"}),
		`alias: name = ""; must be the name of one resource`:          new(Tx).Put(res("a", "1", "")),
		`body; must be nil if the resource has an error`:              put(func(r *Resource) { r.Err = new(rpcstatus.Status) }),
		`TTL = -1ns; must not be negative`:                            put(func(r *Resource) { r.TTL = -1 }),
		`name = "` + member + `*"; must be the name of one resource,`: new(Tx).Delete(Key{clusterURL, member + "*"}),
	} {
		if err := tx.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check = %v, want %q", err, want)
		}
	}
	for name, tx := range map[string]*Tx{
		"a resource with an error":    put(func(r *Resource) { r.Body, r.Err = nil, new(rpcstatus.Status) }),
		"a type URL without a host":   new(Tx).Delete(Key{"/envoy.config.cluster.v3.Cluster", "a"}),
		"a member of a collection":    new(Tx).Put(res(member+"1", "1", member+"2")),
		"no operation, no conditions": new(Tx),
	} {
		if err := tx.Check(); err != nil {
			t.Errorf("%s: Check = %v, want none", name, err)
		}
	}
}

func TestUnchanged(t *testing.T) {
	if r, ok := new(Tx).Unchanged(); r != 0 || ok {
		t.Errorf("Unchanged() of an empty transaction = %d, %t", r, ok)
	}
	if r, ok := new(Tx).IfUnchanged(7).Unchanged(); r != 7 || !ok {
		t.Errorf("Unchanged() after IfUnchanged(7) = %d, %t", r, ok)
	}
}

// Commit computes versions. It keeps those that the program has set.
func TestVersionsOfACommit(t *testing.T) {
	m := NewMemory()
	if _, err := m.Commit(context.Background(), put(func(r *Resource) { r.Version = "7-x" }).Put(res("b", "1"))); err != nil {
		t.Fatal(err)
	}
	want := res("b", "1")
	for name, version := range map[string]string{"a": "7-x", "b": Version(&want)} {
		if r, _, _ := m.Get(Key{clusterURL, name}); r.Version != version {
			t.Errorf("the version of %s is %q, want %q", name, r.Version, version)
		}
	}
}

// An alias belongs to the authority of its resource. Otherwise one authority could answer for names of another.
func TestAliasOfAnotherAuthority(t *testing.T) {
	const east, west = "xdstp://east/envoy.config.cluster.v3.Cluster/", "xdstp://west/envoy.config.cluster.v3.Cluster/"
	for _, test := range []struct {
		name, alias string
		ok          bool
	}{
		{"a", "b", true},
		{east + "a", east + "b", true},
		{"xdstp:///envoy.config.cluster.v3.Cluster/a", "xdstp:///envoy.config.cluster.v3.Cluster/b", true},
		{"a", east + "b", false},
		{east + "a", "b", false},
		{east + "a", west + "a", false},
		{"xdstp:///envoy.config.cluster.v3.Cluster/a", "b", false},
	} {
		err := new(Tx).Put(Resource{Key: Key{clusterURL, test.name}, Body: []byte{}, Aliases: []string{test.alias}}).Check()
		if ok := err == nil; ok != test.ok || !ok && !strings.Contains(err.Error(), "must have the authority of the resource's name") {
			t.Errorf("Check of %q with the alias %q = %v, want accepted = %t", test.name, test.alias, err, test.ok)
		}
	}
}
