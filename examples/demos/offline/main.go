// Command offline shows a gRPC channel and a typed client that work without a control plane.
//
//	go run ./examples/demos/offline
//
// It starts a program three times: from a folder of files, from a control plane, and from its last
// known good store. Before the last start, the control plane dies and the program is killed. The
// example ends within seconds. Its exit code is 0 only if every printed event happened and no call failed. Read
// program.go for the program, and chapters.go for the events.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/xdsforge/xdsforge/examples/demos/story"
)

// timeout is the limit for the whole run.
const timeout = 60 * time.Second

func main() {
	if os.Getenv(programDir) != "" {
		program()
		return
	}
	story.Main("offline", timeout, run)
}

// A stage has the state of the chapters.
type stage struct {
	story.Teller
	dir         string // of the folder and the store
	blue, green *backend
	plane       *story.ControlPlane
	process     *process // the program
	calls       int      // of the processes that ended
}

func run(ctx context.Context, out io.Writer) (err error) {
	s := &stage{Teller: story.New(out)}
	s.Title("xdsforge offline: from files, and from the last known good store")
	if s.dir, err = os.MkdirTemp("", "offline"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if s.blue, err = newBackend(ctx, "blue"); err != nil {
		return err
	}
	if s.green, err = newBackend(ctx, "green"); err != nil {
		return err
	}
	if s.plane, err = story.NewControlPlane(); err != nil { //nolint:contextcheck // it ends with Stop
		return err
	}
	if err := s.Play(ctx, s.fromFolder, s.fromControlPlane, s.outage, s.fromStore, s.takeover); err != nil {
		return err
	}
	s.Title("\nEverything was seen.")
	return nil
}

// store is the directory of the last known good store.
func (s *stage) store() string { return filepath.Join(s.dir, "lkg") }

// close ends all processes and servers.
func (s *stage) close() error {
	if s.process != nil {
		s.process.kill()
	}
	if s.plane != nil {
		s.plane.Stop()
	}
	for _, b := range []*backend{s.blue, s.green} {
		if b != nil {
			b.server.Stop()
		}
	}
	return os.RemoveAll(s.dir)
}
