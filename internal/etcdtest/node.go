package etcdtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// nodeEnv has the configuration of the node that this process is, in JSON.
const nodeEnv = "XDSFORGE_ETCD_NODE"

// A node is the configuration of a node.
type node struct {
	Name, Dir, Client, Peer string
	Initial                 string // all names and peer URLs
	Options                 Options
}

// Options set up a cluster.
type Options struct {
	Nodes         int   // default 1
	Quota         int64 // bytes; default 8 GiB
	DefaultLimits bool  // do not raise the limits of transactions and requests
	// Compaction is the time for which nodes keep old revisions, at least a second. Without it, they keep all: the data grows,
	// and so does the time of a restart.
	Compaction time.Duration
	// Binary is an etcd to run instead of the one that this module links. Its nodes end with the thread that started them.
	Binary string
	// TLS is a directory with ca.pem, cert.pem and key.pem, of the nodes and of the clients. Clients need a certificate.
	TLS string
}

// isNode runs a node and reports true if this process was started as one.
// A node ends with its standard input.
func isNode() bool {
	text := os.Getenv(nodeEnv)
	if text == "" {
		return false
	}
	var n node
	err := json.Unmarshal([]byte(text), &n)
	if err == nil {
		err = n.run(context.Background())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "etcd node %s: %v\n", n.Name, err)
		os.Exit(1)
	}
	return true
}

// startTime is the limit of the start of a node.
const startTime = 60 * time.Second

func (n *node) run(ctx context.Context) error {
	c := embed.NewConfig()
	c.Name, c.Dir, c.LogLevel, c.LogOutputs = n.Name, n.Dir, "fatal", []string{"stderr"}
	client, err := url.Parse(n.Client)
	if err != nil {
		return err
	}
	peer, err := url.Parse(n.Peer)
	if err != nil {
		return err
	}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	c.InitialCluster = n.Initial
	if dir := n.Options.TLS; dir != "" {
		c.ClientTLSInfo = transport.TLSInfo{
			CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem"), TrustedCAFile: filepath.Join(dir, "ca.pem"), ClientCertAuth: true,
		}
	}
	if !n.Options.DefaultLimits {
		c.MaxTxnOps, c.MaxRequestBytes = 1024, 16<<20
	}
	c.QuotaBackendBytes = n.Options.Quota
	if n.Options.Compaction > 0 {
		c.AutoCompactionMode, c.AutoCompactionRetention = "periodic", n.Options.Compaction.String()
	}
	e, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		return err
	case <-ctx.Done():
		return errors.New("not ready in time")
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
