package bootstrap

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

const aServer = `"xds_servers": [{"server_uri": "a", "channel_creds": [{"type": "insecure"}]}]`

func TestLastKnownGood(t *testing.T) {
	file := `{` + aServer + `, "xdsforge": {"last_known_good": {"dir": "/var/lib/x", "key_file": "/etc/key", "max_age": "48h", "keep": 5, "max_bytes": 1000}}}`
	c, err := Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	want := LastKnownGood{Dir: "/var/lib/x", KeyFile: "/etc/key", MaxAge: 48 * time.Hour, Keep: 5, MaxBytes: 1000}
	if got, ok := c.LastKnownGood(); !ok || got != want {
		t.Errorf("settings = %+v, %t; want %+v", got, ok, want)
	}
	without, err := Parse([]byte(`{` + aServer + `, "xdsforge": null}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := without.LastKnownGood(); ok {
		t.Errorf("settings = %+v without the field", got)
	}
	if c.Key() == without.Key() {
		t.Error("the key does not depend on the store")
	}
	var spec, again Spec
	if err := json.Unmarshal([]byte(file), &spec); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	if err != nil || !reflect.DeepEqual(spec, again) || *spec.LastKnownGood != want {
		t.Errorf("%s, error %v; want the fields of the file", text, err)
	}
	if text, err := json.Marshal(Spec{}); err != nil || strings.Contains(string(text), "xdsforge") {
		t.Errorf("the file of an empty Spec is %s, %v", text, err)
	}
}

func TestInvalidLastKnownGood(t *testing.T) {
	for fields, want := range map[string]string{
		``:                                  `xdsforge.last_known_good.dir = ""; must be the absolute path of a directory`,
		`"dir": "x"`:                        `xdsforge.last_known_good.dir = "x"; must be the absolute path of a directory`,
		`"dir": 7`:                          `xdsforge.last_known_good.dir = a number; must be a string`,
		`"dir": "/x", "key_file": "k"`:      `xdsforge.last_known_good.key_file = "k"; must be the absolute path of a file`,
		`"dir": "/x", "max_age": "1"`:       `xdsforge.last_known_good.max_age = "1"; must be a duration above zero, such as "24h"`,
		`"dir": "/x", "max_age": "-1h"`:     `xdsforge.last_known_good.max_age = "-1h"; must be a duration above zero`,
		`"dir": "/x", "keep": 101`:          `xdsforge.last_known_good.keep = "101"; must be a whole number from 1 to 100`,
		`"dir": "/x", "keep": 0`:            `must be a whole number from 1 to 100`,
		`"dir": "/x", "max_bytes": 1.5`:     `xdsforge.last_known_good.max_bytes = "1.5"; must be a whole number`,
		`"dir": "/x", "max_bytes": "1"`:     `xdsforge.last_known_good.max_bytes = a string; must be a number`,
		`"dir": "/x", "max_bytes": 1e99999`: `must be a whole number`,
	} {
		_, err := Parse([]byte(`{` + aServer + `, "xdsforge": {"last_known_good": {` + fields + `}}}`))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "bootstrap: ") != 1 {
			t.Errorf("{%s}: error %v, want %s", fields, err, want)
		}
	}
	for want, l := range map[string]LastKnownGood{
		"max_age = -1ns": {Dir: "/x", MaxAge: -1}, "keep = 101": {Dir: "/x", Keep: 101}, "max_bytes = -1": {Dir: "/x", MaxBytes: -1},
	} {
		spec := Spec{Servers: []ServerSpec{{URI: "file:///x"}}, LastKnownGood: &l}
		if _, err := New(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %s", l, err, want)
		}
	}
}

// The most generations that can be kept are 100, and 0 stands for the default.
func TestKeptGenerations(t *testing.T) {
	for _, keep := range []int{0, 1, 100} {
		spec := Spec{Servers: []ServerSpec{{URI: "file:///x"}}, LastKnownGood: &LastKnownGood{Dir: "/x", Keep: keep}}
		if _, err := New(spec); err != nil {
			t.Errorf("%d generations: %v", keep, err)
		}
	}
	if _, err := Parse([]byte(`{` + aServer + `, "xdsforge": {"last_known_good": {"dir": "/x", "keep": 100}}}`)); err != nil {
		t.Errorf("100 generations of a file: %v", err)
	}
}
