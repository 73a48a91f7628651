// Command demo tells the story of a control plane of several processes. It publishes a resource type of one's own to a
// store in etcd. Two daemons serve it to typed clients and gRPC channels, and processes are killed. The command fails if
// anything is lost, or if more than the differences are sent.
package main

import (
	"context"
	"io"
	"time"

	"example.com/acme/ratelimit"

	"github.com/xdsforge/xdsforge/examples/demos/story"
	"github.com/xdsforge/xdsforge/internal/etcdtest"
)

func main() {
	if etcdtest.IsChild(ratelimit.Register) {
		return
	}
	story.Main("demo-serve", 3*time.Minute, run)
}

// run plays the story.
func run(ctx context.Context, out io.Writer) error {
	s := &stage{Teller: story.New(out)}
	defer s.close()
	s.Title("A control plane of several processes")
	if err := s.Play(ctx, s.start, s.publish, s.subscribe, s.reject, s.killServe, s.killLeader, s.verify); err != nil {
		return err
	}
	s.Title("Nothing was lost, no call has failed, and only differences were sent.")
	return nil
}
