package server

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"net/http"
	"net/url"
	"strings"

	"github.com/xdsforge/xdsforge/plugins/listener"
)

// certificate sets the header that describes the certificates of the client and of proxies, or removes it.
func (a *admission) certificate(r *http.Request) {
	if a.ClientCert == listener.ClientCertAlwaysForward {
		return
	}
	if a.ClientCert == listener.ClientCertSanitize || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		delete(r.Header, forwardedCert)
		return
	}
	if a.ClientCert == listener.ClientCertForward {
		return
	}
	element := connOfRequest(r).element(r.TLS)
	if earlier := r.Header[forwardedCert]; a.ClientCert == listener.ClientCertAppend && len(earlier) > 0 {
		element = strings.Join(earlier, ",") + "," + element
	}
	r.Header[forwardedCert] = []string{element}
}

// element returns the description of the connection's certificates. It is the same for all requests of the connection.
func (c *conn) element(state *tls.ConnectionState) string {
	c.described.Do(func() { c.description = describe(c.by, state.PeerCertificates, c.chain.admission.Details) })
	return c.description
}

// describe returns one element of X-Forwarded-Client-Cert, in Envoy's order. The URI by is that of the server's certificate.
func describe(by string, certs []*x509.Certificate, d listener.ClientCertDetails) string {
	leaf := certs[0]
	var parts []string
	add := func(key, value string) { parts = append(parts, key+"="+value) }
	if by != "" {
		add("By", name(by))
	}
	digest := sha256.Sum256(leaf.Raw)
	add("Hash", hex.EncodeToString(digest[:]))
	if d.Cert {
		add("Cert", `"`+escapedPEM(certs[:1])+`"`)
	}
	if d.Chain {
		add("Chain", `"`+escapedPEM(certs)+`"`)
	}
	if d.Subject {
		add("Subject", `"`+leaf.Subject.String()+`"`) // RFC 2253 escapes quotes
	}
	if d.URI {
		for _, u := range leaf.URIs {
			add("URI", name(u.String()))
		}
		if len(leaf.URIs) == 0 {
			add("URI", "")
		}
	}
	if d.DNS {
		for _, dns := range leaf.DNSNames {
			add("DNS", name(dns))
		}
	}
	if d.Issuer {
		add("Issuer", `"`+leaf.Issuer.String()+`"`)
	}
	return strings.Join(parts, ";")
}

// escapedPEM returns certificates in PEM format, escaped as in a URL.
func escapedPEM(certs []*x509.Certificate) string {
	var b strings.Builder
	for _, c := range certs {
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // a Builder has no errors
	}
	return strings.ReplaceAll(url.QueryEscape(b.String()), "+", "%20")
}

// unquotable are the characters that a value never has, quoted or not: parsers of the header differ in how they unescape them.
var unquotable = strings.NewReplacer(`"`, "%22", `\`, "%5C")

// name returns a name of a certificate as a value that does not end at a separator of the header.
func name(s string) string {
	s = unquotable.Replace(s)
	if strings.ContainsAny(s, ",;=") {
		return `"` + s + `"`
	}
	return s
}

// firstURI returns the first URI of the certificate that a server presents, or "".
func firstURI(config *tls.Config) string {
	if len(config.Certificates) == 0 || config.Certificates[0].Leaf == nil || len(config.Certificates[0].Leaf.URIs) == 0 {
		return ""
	}
	return config.Certificates[0].Leaf.URIs[0].String()
}

// connOfRequest returns the connection of a request.
func connOfRequest(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn) // ServeHTTP has found its chain there
	return c
}
