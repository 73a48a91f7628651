package publish_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/publish"
)

// A transaction that deletes more than a fifth of the resources, or the last of a type, must be allowed by number.
func TestCheckDeletions(t *testing.T) {
	other := publish.Key{Type: "type.googleapis.com/other.Type", Name: "only"}
	var has []publish.Key
	for i := range 19 {
		has = append(has, key(fmt.Sprint("c", i)))
	}
	has = append(has, other)
	deletions := func(n int) *publish.Tx {
		tx := new(publish.Tx)
		for i := range n {
			tx.Delete(has[i])
		}
		return tx
	}
	put := func(tx *publish.Tx, k publish.Key) *publish.Tx {
		return tx.Put(source.Resource{Key: k, Body: []byte{}})
	}
	for name, x := range map[string]struct {
		tx      *publish.Tx
		has     []publish.Key
		allowed int
		want    string // a part of the error
	}{
		"nothing":                         {tx: deletions(0), has: has},
		"a fifth":                         {tx: deletions(4), has: has},
		"more than a fifth":               {tx: deletions(5), has: has, want: "deletions = 5 of 20 resources"},
		"fewer are allowed":               {tx: deletions(5), has: has, allowed: 4, want: "deletions = 5 of 20"},
		"as many are allowed":             {tx: deletions(5), has: has, allowed: 5},
		"everything":                      {tx: deletions(19).Delete(other), has: has, allowed: 19, want: "deletions = 20 of 20"},
		"everything is allowed":           {tx: deletions(19).Delete(other), has: has, allowed: 20},
		"the last of a type":              {tx: new(publish.Tx).Delete(other), has: has, want: `"other.Type" = all resources`},
		"the last of a type is allowed":   {tx: new(publish.Tx).Delete(other), has: has, allowed: 1},
		"the last of a type is replaced":  {tx: put(new(publish.Tx).Delete(other), publish.Key{Type: other.Type, Name: "new"}), has: has},
		"the last operation counts":       {tx: put(new(publish.Tx).Delete(other), other), has: has},
		"the last operation is a delete":  {tx: put(new(publish.Tx), other).Delete(other), has: has, want: `"other.Type"`},
		"resources that do not exist":     {tx: deletions(10), has: has[10:]},
		"a new type is put":               {tx: put(new(publish.Tx), key("first")), has: has[19:]},
		"a new resource and its deletion": {tx: put(new(publish.Tx), key("first")).Delete(key("first")), has: has},
	} {
		err := publish.CheckDeletions(x.tx, slices.Values(x.has), x.allowed)
		if (x.want != "") != errors.Is(err, publish.ErrDeletions) || x.want == "" && err != nil || x.want != "" && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v; want %q", name, err, x.want)
		}
	}
}
