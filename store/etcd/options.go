package etcd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/internal/tlsfiles"
)

// Options set up a [Store]. Endpoints is required.
type Options struct {
	// Endpoints are the client addresses of the nodes: "host:port", or a URL. At most 100.
	Endpoints []string
	// Tenant names the set of resources. Default "default". At most 256 bytes of UTF-8.
	Tenant string
	// TLS is the configuration of connections. Its ServerName applies to all nodes. Without it, connections are plaintext,
	// unless the first endpoint begins with "https://".
	TLS   *tls.Config
	files tlsfiles.Files // of TLS; they are read again when they change
	// Username and Password authenticate the store to etcd.
	Username, Password string
	// Author is the name of the publisher in the history. At most 256 bytes.
	Author string
	// Logger gets the warnings of the store. Default slog.Default().
	Logger *slog.Logger

	// CheckInterval is the time between two checks that the resources are current. Default 500 ms.
	CheckInterval time.Duration
	// Timeout is the limit of a check, and of the first try of each request. Later tries of a request take
	// up to eight times as long. Default 1 s.
	Timeout time.Duration
	// StaleAfter is the time without a successful check after which resources are stale. Default 3 s.
	StaleAfter time.Duration

	// MaxResources is the limit of resources that a store reads, up to 500,000. Default 500,000.
	MaxResources int
	// MaxBytes is the limit of the total size of resources that a store reads. Default 2 GiB.
	MaxBytes int64
	// TxnOperations is the limit of operations in one transaction of etcd, from 10 on. It must not exceed
	// --max-txn-ops of the nodes. Default 1,000.
	TxnOperations int
	// TxnBytes is the size from which a transaction is divided, from 1,024 on. It must be less than
	// --max-request-bytes of the nodes. Default 4 MiB.
	TxnBytes int
}

const (
	maxEndpoints = 100
	maxText      = 256
	maxResources = source.MaxOperations / 2 // a change may replace all of them
)

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&o.CheckInterval, 500*time.Millisecond)
	set(&o.Timeout, time.Second)
	set(&o.StaleAfter, 3*time.Second)
	if o.Tenant == "" {
		o.Tenant = "default"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MaxResources == 0 {
		o.MaxResources = maxResources
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 2 << 30
	}
	if o.TxnOperations == 0 {
		o.TxnOperations = 1_000
	}
	if o.TxnBytes == 0 {
		o.TxnBytes = 4 << 20
	}
	return o
}

// check returns all violations.
func (o *Options) check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if n := len(o.Endpoints); n == 0 || n > maxEndpoints {
		fail("Endpoints = %d addresses; must be 1 to %d", n, maxEndpoints)
	}
	for i, e := range o.Endpoints {
		if e == "" {
			fail("Endpoints[%d] is empty; must be host:port or a URL", i)
		}
	}
	if len(o.Tenant) > maxText || !utf8.ValidString(o.Tenant) {
		fail("Tenant = %s; must be UTF-8 of at most %d bytes", printable.Quote(o.Tenant, printable.Short), maxText)
	}
	if len(o.Author) > maxText {
		fail("Author = %d bytes; must not be more than %d", len(o.Author), maxText)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"CheckInterval", o.CheckInterval}, {"Timeout", o.Timeout}, {"StaleAfter", o.StaleAfter}} {
		if d.value < time.Millisecond {
			fail("%s = %v; must be at least 1ms", d.name, d.value)
		}
	}
	for _, n := range []struct {
		name       string
		value, min int64
	}{
		{"MaxResources", int64(o.MaxResources), 1},
		{"MaxBytes", o.MaxBytes, 1},
		{"TxnOperations", int64(o.TxnOperations), 10},
		{"TxnBytes", int64(o.TxnBytes), 1 << 10},
	} {
		if n.value < n.min {
			fail("%s = %d; must be at least %d", n.name, n.value, n.min)
		}
	}
	if o.MaxResources > maxResources {
		fail("MaxResources = %d; must not be more than %d", o.MaxResources, maxResources)
	}
	return errors.Join(errs...)
}
