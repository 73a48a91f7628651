package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// connections has the last error of the connection to each node. The client library reports only that a request took
// too long.
type connections struct {
	mu   sync.Mutex
	errs map[string]connectionError // by address
}

// A connectionError is the error of the last connection to a node.
type connectionError struct {
	err error
	at  time.Time
}

// maxErrorAge is the time after which an error no longer counts. A node that the client library still uses has had another
// connection by then. The others may have gone, or have another address.
const maxErrorAge = 5 * time.Minute

// note notes an error of a connection, or nil if the connection works.
func (c *connections) note(addr string, err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, net.ErrClosed) {
		return // this process closed the connection
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		delete(c.errs, addr)
		return
	}
	if c.errs == nil {
		c.errs = make(map[string]connectionError)
	}
	c.errs[addr] = connectionError{err, time.Now()}
	c.expire()
}

// expire removes the errors that no longer count. The caller holds mu.
func (c *connections) expire() {
	maps.DeleteFunc(c.errs, func(_ string, e connectionError) bool { return time.Since(e.at) > maxErrorAge })
}

// err returns the current errors of all nodes, or nil.
func (c *connections) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	list := make([]error, 0, len(c.errs))
	for addr, e := range c.errs {
		list = append(list, fmt.Errorf("node %s: %w", addr, e.err))
	}
	slices.SortFunc(list, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(list...)
}

// because adds the errors of connections to the error of a request that may have failed for want of a connection.
func (s *Store) because(err error) error {
	cause := s.connections.err()
	if cause == nil {
		return err
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
	default:
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// credentials returns the credentials of a client. Its first endpoint decides about TLS if there is no configuration.
func (s *Store) credentials(endpoint string) credentials.TransportCredentials {
	w := &watched{connections: &s.connections}
	switch c := s.options.TLS; {
	case s.files != nil:
		w.TransportCredentials, w.serverName = &reloading{config: c.Clone(), files: s.files}, c.ServerName
	case c != nil:
		w.TransportCredentials, w.serverName = credentials.NewTLS(c), c.ServerName
	case strings.HasPrefix(endpoint, "https://") || strings.HasPrefix(endpoint, "unixs:"):
		w.TransportCredentials = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	default:
		w.TransportCredentials = insecure.NewCredentials()
	}
	return w
}

// watched are credentials that note the errors of handshakes.
type watched struct {
	credentials.TransportCredentials
	serverName  string // in the certificates of all nodes; default: the host of the endpoint
	connections *connections
}

// ClientHandshake implements [credentials.TransportCredentials].
func (w *watched) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	addr := raw.RemoteAddr().String()
	if w.serverName != "" { // gRPC gives precedence to the name that the resolver of etcd's client sets
		authority = w.serverName
	}
	conn, info, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		w.connections.note(addr, advise(err))
		return nil, nil, err
	}
	plaintext := w.Info().SecurityProtocol == "insecure"
	return &watchedConn{Conn: conn, addr: addr, plaintext: plaintext, connections: w.connections}, info, nil
}

// Clone implements [credentials.TransportCredentials].
func (w *watched) Clone() credentials.TransportCredentials {
	return &watched{w.TransportCredentials.Clone(), w.serverName, w.connections}
}

// A watchedConn notes whether the first read succeeds. A node that refuses a certificate says so after the handshake.
type watchedConn struct {
	net.Conn
	addr        string
	plaintext   bool
	connections *connections
	read        bool // one goroutine reads
}

const mayUseTLS = "if the node uses TLS, set ca or tls=true in the URL, or Options.TLS"

// Read implements [net.Conn].
func (c *watchedConn) Read(b []byte) (n int, err error) {
	n, err = c.Conn.Read(b)
	if c.read {
		return n, err
	}
	c.read = true
	switch {
	case n > 0:
		c.connections.note(c.addr, nil)
	case err != nil && c.plaintext:
		c.connections.note(c.addr, fmt.Errorf("%w; %s", err, mayUseTLS))
	case err != nil:
		c.connections.note(c.addr, advise(err))
	}
	return n, err
}

// advise adds to the error of a handshake how to correct it.
func advise(err error) error {
	var advice string
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		advice = "set ca to the authority of the node's certificate, and server-name to a name in it"
	} else if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		advice = "the node does not use TLS; set no ca, cert or tls"
	} else if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		advice = "the node refuses the store; set cert and key to a certificate of an authority that the node accepts"
	} else {
		return err
	}
	return fmt.Errorf("%w; %s", err, advice)
}
