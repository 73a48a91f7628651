package etcdtest

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/xdsforge/xdsforge/internal/tlsfiles"
)

// startBinary starts a node of an installed etcd. The function waits until the node answers a read that a majority confirms.
func (p *process) startBinary(ctx context.Context) (wait func() error, err error) {
	n := &p.config
	args := []string{
		"--name", n.Name, "--data-dir", n.Dir, "--logger", "zap", "--log-level", "fatal", "--log-outputs", "stderr",
		"--listen-client-urls", n.Client, "--advertise-client-urls", n.Client,
		"--listen-peer-urls", n.Peer, "--initial-advertise-peer-urls", n.Peer, "--initial-cluster", n.Initial,
		"--quota-backend-bytes", strconv.FormatInt(n.Options.Quota, 10),
	}
	if !n.Options.DefaultLimits {
		args = append(args, "--max-txn-ops", "1024", "--max-request-bytes", strconv.Itoa(16<<20))
	}
	if dir := n.Options.TLS; dir != "" {
		args = append(args, "--client-cert-auth", "--trusted-ca-file", filepath.Join(dir, "ca.pem"),
			"--cert-file", filepath.Join(dir, "cert.pem"), "--key-file", filepath.Join(dir, "key.pem"))
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), n.Options.Binary, args...) //nolint:gosec // the etcd of the user
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.cmd = cmd
	return func() error {
		ctx, cancel := context.WithTimeout(ctx, startTime)
		defer cancel()
		config := clientv3.Config{Endpoints: []string{p.addr()}, Logger: zap.NewNop(), Context: ctx}
		if n.Options.TLS != "" {
			if config.TLS, err = clientTLS(n.Options.TLS); err != nil {
				return err
			}
		}
		c, err := clientv3.New(config)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		for {
			try, cancel := context.WithTimeout(ctx, time.Second)
			_, err := c.Get(try, "ready")
			cancel()
			if err == nil {
				return nil
			}
			if ctx.Err() != nil {
				return fmt.Errorf("etcdtest: %s is not ready: %w", n.Name, err)
			}
		}
	}, nil
}

// clientTLS returns the configuration of clients for the files in a directory.
func clientTLS(dir string) (*tls.Config, error) {
	r, err := tlsfiles.Open(tlsfiles.Files{
		Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: filepath.Join(dir, "ca.pem"),
	}, func(error) {})
	if err != nil {
		return nil, err
	}
	m := r.Current()
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: m.Certificates, RootCAs: m.CA}, nil
}
