package fakeads

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"golang.org/x/net/http2"
)

// NoStreams is a server that accepts connections and, until Limit, allows no stream on
// them: its SETTINGS_MAX_CONCURRENT_STREAMS is 0. It never answers a stream.
type NoStreams struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu       sync.Mutex
	limit    uint32
	conns    map[net.Conn]*http2.Framer
	accepted int
}

// StartNoStreams serves on a free port of 127.0.0.1, until Stop.
func StartNoStreams() (*NoStreams, error) {
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fakeads: %w", err)
	}
	return ServeNoStreams(lis), nil
}

// ServeNoStreams serves on a listener, until Stop.
func ServeNoStreams(lis net.Listener) *NoStreams {
	s := &NoStreams{listener: lis, conns: make(map[net.Conn]*http2.Framer)}
	s.wg.Go(func() {
		for {
			c, err := lis.Accept()
			if err != nil {
				return // stopped
			}
			s.wg.Go(func() { s.serve(c) })
		}
	})
	return s
}

// serve keeps a connection up.
func (s *NoStreams) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	framer := http2.NewFramer(c, c)
	s.mu.Lock()
	s.accepted++
	s.conns[c] = framer
	err := framer.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: s.limit})
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, c)
	}()
	for err == nil {
		var frame http2.Frame
		if frame, err = framer.ReadFrame(); err == nil {
			err = s.answer(framer, frame)
		}
	}
}

func (s *NoStreams) answer(framer *http2.Framer, frame http2.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return framer.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return framer.WritePing(true, f.Data)
		}
	}
	return nil
}

// Limit allows a number of streams on each connection. Existing streams stay.
func (s *NoStreams) Limit(streams uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = streams
	for _, framer := range s.conns {
		if err := framer.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: s.limit}); err != nil {
			return err
		}
	}
	return nil
}

// Addr is "127.0.0.1:port".
func (s *NoStreams) Addr() string { return s.listener.Addr().String() }

// Connections is the number of connections accepted so far.
func (s *NoStreams) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Stop ends every connection and the server.
func (s *NoStreams) Stop() {
	_ = s.listener.Close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}
