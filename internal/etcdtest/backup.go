package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// Backup writes the data of the cluster to a file, as "etcdctl snapshot save" does.
func (c *Cluster) Backup(ctx context.Context, path string) error {
	cl, err := c.Client()
	if err != nil {
		return err
	}
	defer func() { _ = cl.Close() }()
	from, err := cl.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("etcdtest: backup: %w", err)
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// A Restoration is how a backup becomes the data of a cluster.
type Restoration struct {
	Bump uint64 // added to the revision, and the old revisions are compacted
	// Before runs while the nodes listen for clients at other addresses, which are those of the cluster meanwhile. It may be nil.
	Before func() error
	// Down runs before the first node starts. It may be nil.
	Down func() error
}

// Restore kills all nodes and starts them with the data of a backup, as "etcdutl snapshot restore" does with the names, addresses
// and token of the old cluster. The cluster ID stays the same.
func (c *Cluster) Restore(ctx context.Context, path string, r Restoration) error {
	errs := []error{c.Close()}
	for _, p := range c.nodes {
		n := &p.config
		errs = append(errs, os.RemoveAll(n.Dir), snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
			SnapshotPath: path, Name: n.Name, OutputDataDir: n.Dir, PeerURLs: []string{n.Peer}, InitialCluster: n.Initial,
			InitialClusterToken: "etcd-cluster", // the default
			RevisionBump:        r.Bump, MarkCompacted: r.Bump > 0,
		}))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("etcdtest: restore: %w", err)
	}
	if r.Down != nil {
		errs = append(errs, r.Down())
	}
	if r.Before != nil {
		errs = append(errs, c.elsewhere(ctx, r.Before))
	}
	return errors.Join(append(errs, c.startAll(ctx))...)
}

// elsewhere runs the nodes with other client addresses during a call.
func (c *Cluster) elsewhere(ctx context.Context, call func() error) error {
	addrs, err := freeAddrs(ctx, len(c.nodes))
	if err != nil {
		return err
	}
	usual := make([]string, len(c.nodes))
	for i, p := range c.nodes {
		usual[i], p.config.Client = p.config.Client, "http://"+addrs[i]
	}
	defer func() {
		for i, p := range c.nodes {
			p.config.Client = usual[i]
		}
	}()
	if err := c.startAll(ctx); err != nil {
		return err
	}
	return errors.Join(call(), c.Close())
}
