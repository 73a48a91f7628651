package world

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// MaxResponse is the limit of a response of CSDS in bytes.
const MaxResponse = 256 << 20

// A Dialer connects to the CSDS of processes.
type Dialer struct {
	TLS                       bool
	CA, Cert, Key, ServerName string
	Timeout                   time.Duration
}

// A Client is the CSDS of one process.
type Client struct {
	addr    string
	timeout time.Duration
	conn    *grpc.ClientConn
}

// Dial creates a client of a process. It does not connect.
func (d Dialer) Dial(addr string) (*Client, error) {
	creds := insecure.NewCredentials()
	if d.TLS || d.CA != "" || d.Cert != "" {
		config, err := d.tls()
		if err != nil {
			return nil, err
		}
		creds = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(creds), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxResponse)))
	if err != nil {
		return nil, fmt.Errorf("address = %q; %w", addr, err)
	}
	return &Client{addr: addr, timeout: d.Timeout, conn: conn}, nil
}

func (d Dialer) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: d.ServerName}
	if d.CA != "" {
		pem, err := os.ReadFile(d.CA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--ca = %q; must have a certificate in PEM", d.CA)
		}
	}
	if d.Cert != "" {
		pair, err := tls.LoadX509KeyPair(d.Cert, d.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Fetch returns the clients of the process. Without contents, the entries have no resources if the
// process heeds that.
func (c *Client) Fetch(ctx context.Context, contents bool) ([]Process, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req := &statusv3.ClientStatusRequest{ExcludeResourceContents: !contents}
	stub := statusv3.NewClientStatusDiscoveryServiceClient(c.conn)
	resp, err := stub.FetchClientStatus(ctx, req)
	if status.Code(err) == codes.Unimplemented {
		resp, err = c.stream(ctx, stub, req)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.addr, err)
	}
	list := make([]Process, 0, len(resp.GetConfig()))
	for _, config := range resp.GetConfig() {
		list = append(list, c.process(config))
	}
	return list, nil
}

// stream reads one response of the streaming method, for servers that have only that.
func (c *Client) stream(ctx context.Context, stub statusv3.ClientStatusDiscoveryServiceClient, req *statusv3.ClientStatusRequest) (*statusv3.ClientStatusResponse, error) {
	s, err := stub.StreamClientStatus(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Send(req); err != nil {
		return nil, errors.Join(err, s.CloseSend())
	}
	resp, err := s.Recv()
	return resp, errors.Join(err, s.CloseSend())
}

// A Process is one xDS client of a process.
type Process struct {
	Address string
	NodeID  string
	Agent   string
	Scope   string
	Entries Static
}

func (c *Client) process(config *statusv3.ClientConfig) Process {
	p := Process{Address: c.addr, NodeID: config.GetNode().GetId(), Scope: config.GetClientScope()}
	p.Agent = strings.TrimSpace(config.GetNode().GetUserAgentName() + " " + config.GetNode().GetUserAgentVersion())
	for _, g := range config.GetGenericXdsConfigs() {
		e := &Entry{
			Scope: p.Scope, Where: c.addr, Type: g.GetTypeUrl()[strings.LastIndexByte(g.GetTypeUrl(), '/')+1:], Name: g.GetName(),
			State: g.GetClientStatus().String(), Version: g.GetVersionInfo(), Updated: moment(g.GetLastUpdated()), Content: g.GetXdsConfig(),
		}
		if f := g.GetErrorState(); f != nil {
			e.Error, e.RejectedVersion, e.ErrorAt, e.Rejected = f.GetDetails(), f.GetVersionInfo(), moment(f.GetLastUpdateAttempt()), f.GetFailedConfiguration()
		}
		p.Entries = append(p.Entries, e)
	}
	p.Entries.Sort()
	return p
}

// moment returns the zero time for a missing one. grpc-go sends the year 1 for it.
func moment(t *timestamppb.Timestamp) time.Time {
	if at := t.AsTime(); t != nil && at.Year() > 1970 {
		return at
	}
	return time.Time{}
}
