package statedir

import (
	"slices"
	"strings"
	"testing"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/durable"
)

// No record is larger than the size that the limit of a file counts. Otherwise a file could be written that is too large to be
// read.
func TestSizeOfRecords(t *testing.T) {
	var types durable.Table
	types.Add("t")
	long := strings.Repeat("x", 1000)
	for name, r := range map[string]source.Resource{
		"empty":   {Key: source.Key{Type: "t"}},
		"texts":   {Key: source.Key{Type: "t", Name: long}, Version: long, Body: []byte(long), Expires: time.UnixMilli(1 << 62), TTL: 1 << 62},
		"aliases": {Key: source.Key{Type: "t"}, Aliases: slices.Repeat([]string{long}, source.MaxAliases)},
		"error":   {Key: source.Key{Type: "t"}, Err: &rpcstatus.Status{Code: 5, Message: long}},
	} {
		b, err := appendResource(nil, &r, &types)
		if err != nil {
			t.Fatal(err)
		}
		if got := sizeOf(&r); got < len(b) || got > len(b)+100+source.MaxAliases*10 {
			t.Errorf("%s: the size is %d bytes, but the record has %d", name, got, len(b))
		}
	}
}
