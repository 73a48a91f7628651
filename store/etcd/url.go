package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/internal/tlsfiles"
)

// ParseURL returns the options in a URL such as
//
//	etcd://10.0.0.1:2379,10.0.0.2:2379/tenant?ca=/etc/xds/ca.pem&user=xds&password-file=/etc/xds/password
//
// The tenant is optional. The parameters are ca, cert and key, which are files in PEM and turn TLS on, tls=true, server-name, user,
// password-file, timeout, txn-operations and txn-bytes. The URL is not valid with others. When the files of TLS change, the store uses
// them for its next connections.
func ParseURL(s string) (Options, error) {
	var o Options
	rest, ok := strings.CutPrefix(s, "etcd://")
	if !ok {
		return o, errors.New("etcd: the URL; must begin with \"etcd://\"")
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, tenant, _ := strings.Cut(rest, "/")
	o.Endpoints = strings.Split(hosts, ",")
	var err error
	if o.Tenant, err = url.PathUnescape(tenant); err != nil {
		return o, fmt.Errorf("etcd: tenant in the URL: %w", err)
	}
	q, err := url.ParseQuery(query)
	if err != nil {
		return o, fmt.Errorf("etcd: parameters in the URL: %w", err)
	}
	p := parameters{values: q}
	p.tls(&o)
	o.Username = p.take("user")
	if file := p.take("password-file"); file != "" {
		o.Password = strings.TrimRight(string(p.file(file)), "\r\n")
	}
	if t := p.take("timeout"); t != "" {
		if o.Timeout, err = time.ParseDuration(t); err != nil {
			p.fail("timeout", err)
		}
	}
	o.TxnOperations, o.TxnBytes = p.number("txn-operations"), p.number("txn-bytes")
	for name := range p.values {
		p.fail(name, errors.New("is not a parameter"))
	}
	if len(p.errs) > 0 {
		return o, errors.Join(p.errs...)
	}
	checked := o.withDefaults()
	if err := checked.check(); err != nil {
		return o, fmt.Errorf("etcd: %w", err)
	}
	return o, nil
}

type parameters struct {
	values url.Values
	errs   []error
}

func (p *parameters) fail(name string, err error) {
	p.errs = append(p.errs, fmt.Errorf("etcd: parameter %s of the URL: %w", name, err))
}

// take removes a parameter and returns its value.
func (p *parameters) take(name string) string {
	v := p.values.Get(name)
	if len(p.values[name]) > 1 {
		p.fail(name, errors.New("must not be repeated"))
	}
	delete(p.values, name)
	return v
}

func (p *parameters) number(name string) (n int) {
	v := p.take(name)
	if v == "" {
		return 0
	}
	if _, err := fmt.Sscanf(v, "%d", &n); err != nil || fmt.Sprint(n) != v || n <= 0 {
		p.fail(name, fmt.Errorf("%q; must be a number above zero", v))
	}
	return n
}

func (p *parameters) file(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		p.errs = append(p.errs, fmt.Errorf("etcd: %w", err))
	}
	return data
}

// tls sets the TLS configuration if a parameter asks for TLS.
func (p *parameters) tls(o *Options) {
	on, ca, cert, key, name := p.take("tls"), p.take("ca"), p.take("cert"), p.take("key"), p.take("server-name")
	if on != "" && on != "true" {
		p.fail("tls", fmt.Errorf("%q; must be true", on))
	}
	if (cert == "") != (key == "") {
		p.fail("cert", errors.New("must be set together with key"))
		return
	}
	if on == "" && ca == "" && cert == "" {
		if name != "" {
			p.fail("server-name", errors.New("needs tls=true"))
		}
		return
	}
	o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name}
	o.files = tlsfiles.Files{Certificate: cert, Key: key, CA: ca}
	if ca != "" {
		o.TLS.RootCAs = x509.NewCertPool()
		if data := p.file(ca); data != nil && !o.TLS.RootCAs.AppendCertsFromPEM(data) {
			p.fail("ca", fmt.Errorf("%s has no certificates", ca))
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			p.fail("cert", err)
		}
		o.TLS.Certificates = []tls.Certificate{pair}
	}
}
