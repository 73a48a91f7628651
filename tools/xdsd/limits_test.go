package xdsd

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/serve"
)

// Each limit of a server has a name of the flag -limit, under which it can be set.
func TestEachLimitHasAFlag(t *testing.T) {
	fields := reflect.TypeFor[serve.Limits]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		var f limitsFlag
		value, want := "77", any(77)
		if fields.Field(i).Type == reflect.TypeFor[time.Duration]() {
			value, want = "77s", 77*time.Second
		}
		if err := f.Set(name + "=" + value); err != nil {
			t.Errorf("-limit %s=%s: %v; each field of serve.Limits needs a flag", name, value, err)
			continue
		}
		if got := reflect.ValueOf(f.limits).Field(i).Interface(); got != want {
			t.Errorf("-limit %s=%s sets %v, want %v", name, value, got, want)
		}
		if n := reflect.ValueOf(f.limits); !onlyField(n, i) {
			t.Errorf("-limit %s=%s sets other limits, too: %+v", name, value, f.limits)
		}
	}
	if got := len(new(limitsFlag).names()); got != fields.NumField() {
		t.Errorf("the flag has %d names, want the %d fields of serve.Limits", got, fields.NumField())
	}
}

// onlyField reports whether all other fields are zero.
func onlyField(v reflect.Value, i int) bool {
	for k := range v.NumField() {
		if k != i && !v.Field(k).IsZero() {
			return false
		}
	}
	return true
}

// Values have units. A wrong value is an error that names the limit and says how to write it.
func TestLimitFlag(t *testing.T) {
	for value, want := range map[string]int{"ClientBytes=64MiB": 64 << 20, "ClientBytes=1GiB": 1 << 30, "ClientBytes=3KiB": 3 << 10, "ClientBytes=5": 5} {
		var f limitsFlag
		if err := f.Set(value); err != nil || f.limits.ClientBytes != want {
			t.Errorf("-limit %s: %d, %v; want %d", value, f.limits.ClientBytes, err, want)
		}
	}
	for value, want := range map[string]string{
		"Names":               `Names = ""; must be a number above 0`,
		"Names=0":             `Names = "0"; must be a number above 0`,
		"Names=-1":            "must be a number above 0",
		"Names=x":             "must be a number above 0",
		"Names=9999999999GiB": "must be a number above 0",
		"Names=1MB":           "must be a number above 0",
		"FirstRequest=10":     "must be a time above 0, such as 30s",
		"FirstRequest=0s":     "must be a time above 0",
		"names=1":             "Bytes, ClientBytes, ClientNames",
		"":                    "the limit \"\" does not exist",
		"Name=1":              "does not exist",
	} {
		if err := new(limitsFlag).Set(value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("-limit %s: %v, want an error with %q", value, err, want)
		}
	}
	var f limitsFlag
	if err := f.Set("Names=1"); err != nil {
		t.Fatal(err)
	}
	if err := f.Set("Names=2"); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a limit that is given twice: %v, want an error", err)
	}
	if err := f.Set("RequestBytes=32MiB"); err != nil || len(f.server()) != 1 {
		t.Errorf("%v, and %d options of the gRPC server; want its limit of requests", err, len(f.server()))
	}
}
