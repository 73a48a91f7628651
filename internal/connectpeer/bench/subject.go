package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/internal/process"
)

// text is the message of Connect calls.
type text = wrapperspb.StringValue

// method is the path of the Connect method.
const method = "/bench.Service/Echo"

// A protocol is a version of HTTP, with TLS or without.
type protocol struct {
	name string
	kind httpxds.Protocol
	tls  bool
}

var (
	http1 = protocol{"HTTP/1.1", httpxds.HTTP1, false}
	h2c   = protocol{"h2c", httpxds.HTTP2, false}
	tls1  = protocol{"TLS HTTP/1.1", httpxds.HTTP1, true}
	tls2  = protocol{"TLS HTTP/2", httpxds.HTTP2, true}
)

// A world has the server's process and an Env.
type world struct {
	child *process.Child
	at    Addresses
	env   *xdsforge.Env
	roots *x509.CertPool
}

func openWorld(ctx context.Context, dir string) (w *world, err error) {
	w = &world{roots: x509.NewCertPool()}
	if w.child, err = process.Start(ctx, "-serve", dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.child.Stop()
		}
	}()
	if err := w.child.Call("Where", nil, &w.at); err != nil {
		return nil, err
	}
	roots := filepath.Join(dir, rootsFile)
	pem, err := os.ReadFile(roots)
	if err != nil {
		return nil, err
	}
	if !w.roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("the file of the certificate authority has no certificate")
	}
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"node": {"id": "bench"}, "xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}],
		"certificate_providers": {"files": {"plugin_name": "file_watcher", "config": {"ca_certificate_file": %q}}}}`, w.at.Plane, roots))
	if err != nil {
		return nil, err
	}
	w.env, err = xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(httpxds.Register))
	return w, err
}

func (w *world) close() {
	_ = w.env.Close() // the figures are printed
	w.child.Stop()
}

// A subject is one of the two clients of a row.
type subject struct {
	do    func(context.Context) error
	close func()
}

// plain returns a client without xDS. It applies the time limit of the route.
func (w *world) plain(r row) *subject {
	t := template()
	t.MaxIdleConnsPerHost = r.parallel
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(r.protocol.kind == httpxds.HTTP1)
	t.Protocols.SetHTTP2(r.protocol.kind == httpxds.HTTP2 && r.protocol.tls)
	t.Protocols.SetUnencryptedHTTP2(r.protocol.kind == httpxds.HTTP2 && !r.protocol.tls)
	url := "http://" + w.at.Plain
	if r.protocol.tls {
		t.TLSClientConfig = &tls.Config{RootCAs: w.roots, MinVersion: tls.VersionTLS13}
		url = "https://" + w.at.Secure
	}
	do := request(&http.Client{Transport: t}, url, r)
	if r.limit > 0 {
		unlimited := do
		do = func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, r.limit)
			defer cancel()
			return unlimited(ctx)
		}
	}
	return &subject{do, t.CloseIdleConnections}
}

// ours returns a client of the control plane's target.
func (w *world) ours(r row) (*subject, error) {
	t, err := httpxds.NewTransport("xds:///"+r.target, httpxds.WithEnv(w.env), httpxds.WithProtocol(r.protocol.kind), httpxds.WithBase(template()))
	if err != nil {
		return nil, err
	}
	return &subject{request(&http.Client{Transport: t}, "http://"+r.target, r), func() { _ = t.Close() }}, nil
}

// template returns the settings of both clients.
func template() *http.Transport {
	return &http.Transport{ForceAttemptHTTP2: true}
}

// request returns a function that sends a request of a row and reads the response.
func request(c *http.Client, url string, r row) func(context.Context) error {
	if r.connect {
		cc := connect.NewClient[text, text](c, url+method)
		message := wrapperspb.String(strings.Repeat("x", r.size))
		return func(ctx context.Context) error {
			_, err := cc.CallUnary(ctx, connect.NewRequest(message))
			return err
		}
	}
	body := bytes.Repeat([]byte("x"), r.size)
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/", bytes.NewReader(body))
		if err != nil {
			return err
		}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK || n != int64(r.size) {
			return fmt.Errorf("the response has the status %d and %d bytes; want 200 and %d", resp.StatusCode, n, r.size)
		}
		return nil
	}
}
