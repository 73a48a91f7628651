package dataplane_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
)

var at = time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)

// Each part prints as one line, whatever a control plane names things.
func TestString(t *testing.T) {
	policy := &dataplane.Policy{Name: "a\nb", State: "READY", Err: "bad\nconfig", Children: make([]dataplane.Child, 2)}
	for _, tt := range []struct {
		part fmt.Stringer
		want string
	}{
		{dataplane.Target{Target: "xds:///a"}, `target "xds:///a": not configured, 0 clusters`},
		{
			dataplane.Target{Target: "xds:///a", State: "IDLE", Listener: "l", Routes: "r", VirtualHost: "v", Pending: "Cluster \"c\"", Err: "old", ErrAt: at},
			`target "xds:///a": IDLE, 0 clusters, listener "l", routes "r", virtual host "v", waits: Cluster "c", last error at 2025-01-02T03:04:05Z: old`,
		},
		{
			dataplane.Target{Target: "xds:///a", State: "IDLE", Listener: "l", Routes: "r", VirtualHost: "v", Extensions: []string{"e", "f"}},
			`target "xds:///a": IDLE, 0 clusters, listener "l", routes "r", virtual host "v", 2 configurations of filters`,
		},
		{dataplane.Target{Err: "e\nf", Failing: true}, `target "": not configured, 0 clusters, calls fail: e\nf`},
		{dataplane.Cluster{Name: "c\n"}, `cluster "c\n": no state, not called yet`},
		{
			dataplane.Cluster{Name: "p", State: "READY", Created: true, BelowPlugin: true, Policy: policy, Waiting: &dataplane.Policy{Name: "x"}, Err: "e"},
			`cluster "p": READY, below a plugin, a\nb READY with 2 children: bad\nconfig, then x no state: e`,
		},
		{
			dataplane.Leaf{Name: "l", Refused: 2, Reason: "why", Drops: []dataplane.Drop{{Category: "d", PerMillion: 5, Dropped: 7}}, Note: "n\n", Err: "e"},
			`leaf "l": not tried, not in use: why, 0 priorities, 0 of at most 0 calls in flight, 2 refused, drops 5 of 1000000 calls as "d", 7 so far (n\n): e`,
		},
		{
			dataplane.Leaf{Name: "l", InUse: true, Limits: []dataplane.Limit{{Name: "retries", Used: 1, Max: 3, Refused: 2}}},
			`leaf "l": not tried, in use, 0 priorities, 0 of at most 0 calls in flight, 1 of at most 3 retries, 2 refused`,
		},
		{dataplane.Priority{Number: 3, InUse: true, State: "READY"}, `priority 3: READY, in use, 0 localities, 0 endpoints`},
		{dataplane.Locality{Region: "r", Weight: 4}, `locality {region="r", zone="", sub_zone=""}: weight 4, 0 endpoints`},
		{dataplane.Child{Subset: true, Policy: &dataplane.Policy{Name: "p", State: "IDLE"}}, `subset, p IDLE`},
		{dataplane.Child{SubZone: "s"}, `locality {region="", zone="", sub_zone="s"}`},
		{
			dataplane.Endpoint{Addresses: []string{"a:1", "b:2"}, Health: "HEALTHY", Ejected: true, Err: "refused"},
			`endpoint a:1, b:2: not connected, HEALTHY, weight 0, 0 calls, ejected: refused`,
		},
		{dataplane.Server{Ports: []dataplane.Port{{Address: "1.2.3.4:5", Mode: dataplane.Serving}}}, `server with 1 ports: 1.2.3.4:5 SERVING`},
		{
			dataplane.Port{Address: "a", Mode: dataplane.NotServing, Since: at, Listener: "l", Reason: "gone"},
			`port a: NOT_SERVING since 2025-01-02T03:04:05Z, listener "l", 0 generations: gone`,
		},
		{dataplane.FilterChain{Name: "f", TLS: true, Err: "none"}, `filter chain "f": 0 connections, routes "", TLS: none`},
	} {
		if got := tt.part.String(); got != tt.want {
			t.Errorf("%T is\n%s, want\n%s", tt.part, got, tt.want)
		}
	}
}

// fill sets each field of a value, so that none is empty.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(at))
			return
		}
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		if v.Type() != reflect.TypeFor[[]dataplane.Child]() { // policies have children with policies
			fill(v.Index(0))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(7)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(8)
	case reflect.Int:
		v.SetInt(9)
	default:
		panic("a field of the kind " + v.Kind().String())
	}
}

// JSON has every field, and reading it gives the same value.
func TestJSON(t *testing.T) {
	for _, value := range []any{new(dataplane.Target), new(dataplane.Server)} {
		fill(reflect.ValueOf(value).Elem())
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(value).Elem()).Interface()
		if err := json.Unmarshal(b, back); err != nil || !reflect.DeepEqual(value, back) {
			t.Errorf("%T is %s, and was read as %+v, %v", value, b, back, err)
		}
		again, err := json.Marshal(back)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("JSON is %s, then %s, %v", b, again, err)
		}
		if strings.Contains(string(b), "null") {
			t.Errorf("JSON has a null: %s", b)
		}
	}
}
