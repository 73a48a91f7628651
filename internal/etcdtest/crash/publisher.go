package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/publish"
	"github.com/xdsforge/xdsforge/store/etcd"

	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// publisherEnv has the endpoints of the store for a process that publishes.
const publisherEnv = "XDSFORGE_CRASH_PUBLISHER"

// A transaction puts all resources, each with the number of the transaction as its limit of requests. Every second transaction
// is larger than one of etcd may be.
const (
	resources       = 120
	smallOperations = 30
	pause           = 5 * time.Millisecond
)

// isPublisher publishes until the process is killed, if the environment asks for that. It prints the number of each
// acknowledged transaction.
func isPublisher() bool {
	endpoints := os.Getenv(publisherEnv)
	if endpoints == "" {
		return false
	}
	go func() { // the end of the parent
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Fprintln(os.Stderr, "publisher:", publishAll(context.Background(), strings.Split(endpoints, ",")))
	os.Exit(1)
	return true
}

// publishAll publishes until something fails.
func publishAll(ctx context.Context, endpoints []string) error {
	o := etcd.Options{Endpoints: endpoints, Logger: slog.New(slog.DiscardHandler)}
	whole, err := etcd.Open(o)
	if err != nil {
		return err
	}
	o.TxnOperations = smallOperations
	parts, err := etcd.Open(o)
	if err != nil {
		return err
	}
	state, err := whole.State(ctx, 0)
	if err != nil {
		return err
	}
	n, err := numberOf(state.Resources)
	if err != nil {
		return err
	}
	for ticker := time.NewTicker(pause); ; <-ticker.C {
		n++
		store := whole
		if n%2 == 0 {
			store = parts
		}
		if err := put(ctx, store, n); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

func put(ctx context.Context, store publish.Store, n uint32) error {
	tx := new(publish.Tx)
	for i := range resources {
		m := &clusterv3.Cluster{
			Name: fmt.Sprintf("c%d", i), ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
			EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{
				EdsConfig: &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: new(corev3.AggregatedConfigSource)}},
			},
			CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{MaxRequests: wrapperspb.UInt32(n)}}},
		}
		if err := publish.AddTo(tx, cluster.Type(), m); err != nil {
			return err
		}
	}
	_, err := store.Commit(ctx, tx)
	return err
}

// number returns the number of the transaction that put a resource.
func number(body []byte) (uint32, error) {
	var m clusterv3.Cluster
	if err := proto.Unmarshal(body, &m); err != nil {
		return 0, err
	}
	return m.GetCircuitBreakers().GetThresholds()[0].GetMaxRequests().GetValue(), nil
}

var errPart = errors.New("a part of a transaction is visible")

// numberOf returns the number of the transaction that put all resources.
func numberOf(list []etcd.Resource) (n uint32, err error) {
	if len(list) != 0 && len(list) != resources {
		return 0, fmt.Errorf("%w: %d resources", errPart, len(list))
	}
	for i := range list {
		next, err := number(list[i].Body)
		if err != nil {
			return 0, err
		}
		if i > 0 && next != n {
			return 0, fmt.Errorf("%w: %d and %d", errPart, n, next)
		}
		n = next
	}
	return n, nil
}

// A publisher is a process that publishes.
type publisher struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// startPublisher starts a publisher. It calls acknowledged with each number.
func startPublisher(ctx context.Context, endpoints []string, acknowledged func(n uint32)) (*publisher, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &publisher{cmd: exec.CommandContext(context.WithoutCancel(ctx), self), done: make(chan struct{})} //nolint:gosec // this program itself
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), publisherEnv+"="+strings.Join(endpoints, ",")), os.Stderr
	if _, err := p.cmd.StdinPipe(); err != nil { // it closes with this process
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		for s := bufio.NewScanner(out); s.Scan(); {
			if n, err := strconv.ParseUint(s.Text(), 10, 32); err == nil {
				acknowledged(uint32(n))
			}
		}
	}()
	return p, nil
}

// kill kills the publisher, and returns when its last acknowledgement was seen.
func (p *publisher) kill() error {
	err := p.cmd.Process.Kill()
	<-p.done
	_ = p.cmd.Wait() // it was killed
	return err
}
