package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/xdsforge/xdsforge/framework/lkg"
)

const endpointType = "envoy.config.endpoint.v3.ClusterLoadAssignment"

// fromFolder starts the program from a folder.
func (s *stage) fromFolder(ctx context.Context) (err error) {
	s.Chapter("A folder")
	folder := filepath.Join(s.dir, "xds")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "shop.yaml"), fmt.Appendf(nil, resources, s.blue.port), 0o600); err != nil {
		return err
	}
	if s.process, err = startProcess(ctx, filepath.Join(s.dir, "lkg-of-the-folder"), "file://"+folder); err != nil {
		return err
	}
	if _, err := s.process.await(ctx, served("blue", "primary")); err != nil {
		return err
	}
	s.Seen("A channel and a typed client start from shop.yaml. The server blue answers.")
	s.process.stop()
	s.calls += s.process.last.Calls
	return nil
}

// served is the condition that a server answers, and that the typed client has the cluster of an origin.
func served(answer, origin string) func(state) bool {
	return func(s state) bool { return s.Answer == answer && s.Origin == origin }
}

// fromControlPlane starts the program from a control plane, and waits until the store has all resources.
func (s *stage) fromControlPlane(ctx context.Context) (err error) {
	s.Chapter("A control plane")
	if err := publish(s.plane, s.blue); err != nil {
		return err
	}
	if s.process, err = startProcess(ctx, s.store(), s.plane.Addr()); err != nil {
		return err
	}
	if _, err := s.process.await(ctx, served("blue", "primary")); err != nil {
		return err
	}
	s.Seen("The same program starts from a control plane. The server blue answers.")
	var sequence uint64
	if _, err := s.process.await(ctx, func(state) bool {
		sequence, err = s.stored()
		return err != nil || sequence > 0
	}); err != nil {
		return err
	}
	if err == nil {
		s.Seen("Its store has generation %d with all resources.", sequence)
	}
	return err
}

// stored returns the newest generation if it has endpoints. It opens the store beside the program, which
// has the lock.
func (s *stage) stored() (sequence uint64, err error) {
	store, err := lkg.Open(lkg.Options{Dir: s.store()}, lkg.Node{ID: "shop-1"})
	if err != nil {
		return 0, err
	}
	defer func() { _ = store.Close() }()
	if _, ok := store.Lookup(lkg.Authority{OldStyle: true}, endpointType, "shop"); !ok {
		return 0, nil
	}
	return store.Status().Authorities[0].Sequence, nil
}

// outage stops the control plane and kills the program.
func (s *stage) outage(ctx context.Context) error {
	s.Chapter("The control plane dies, and the program is killed")
	s.plane.Stop()
	if _, err := s.process.await(ctx, func(s state) bool { return s.Ambient != "" }); err != nil {
		return err
	}
	before := s.process.last.Calls
	after, err := s.process.await(ctx, func(s state) bool { return s.Calls > before+20 })
	if err != nil {
		return err
	}
	s.Seen("Calls go on. The typed client has an ambient error:")
	s.Quote("error:", after.Ambient)
	s.process.kill()
	s.calls += s.process.last.Calls
	s.Seen("The program was killed (SIGKILL).")
	return nil
}

// fromStore starts the program without a control plane.
func (s *stage) fromStore(ctx context.Context) (err error) {
	s.Chapter("The program starts without a control plane")
	began := time.Now()
	if s.process, err = startProcess(ctx, s.store(), s.plane.Addr()); err != nil {
		return err
	}
	first, err := s.process.await(ctx, func(s state) bool { return s.Calls > 0 })
	if err != nil {
		return err
	}
	s.Seen("The first call was answered by %s, %d ms after the start of the process.", first.Answer, time.Since(began).Milliseconds())
	now, err := s.process.await(ctx, func(now state) bool { return served("blue", "stored")(now) && now.Calls > first.Calls+20 })
	if err != nil {
		return err
	}
	s.Seen("The typed client has the cluster with the origin %q.", now.Origin)
	return nil
}

// takeover lets the control plane return with other resources.
func (s *stage) takeover(ctx context.Context) error {
	s.Chapter("The control plane returns with other endpoints")
	if err := publish(s.plane, s.green); err != nil {
		return err
	}
	if err := s.plane.Restart(); err != nil { //nolint:contextcheck // it ends with Stop
		return err
	}
	if _, err := s.process.await(ctx, served("green", "primary")); err != nil {
		return err
	}
	now, err := s.process.await(ctx, func(s state) bool { return s.Ambient == "" })
	if err != nil {
		return err
	}
	s.Seen("The server %s answers, the origin is %q, and the ambient error is over.", now.Answer, now.Origin)
	s.process.stop()
	if last := s.process.last; last.Failed > 0 || last.Unusable > 0 {
		return fmt.Errorf("the program ended with %d failed calls (%s), and lost its resource %d times", last.Failed, last.Error, last.Unusable)
	}
	s.calls += s.process.last.Calls
	s.Seen("None of %d calls failed.", s.calls)
	return nil
}
