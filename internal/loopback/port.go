//go:build unix

// Package loopback reserves ports of 127.0.0.1 for tests that stop a server and start it again.
package loopback

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// A Port is a TCP port of 127.0.0.1 that no other program gets until Close, or until the garbage
// collector finds the Port. Its owner can listen on it, repeatedly. While nobody listens, connections
// to it are refused.
type Port struct {
	addr   string
	socket *os.File // bound, and never listening
}

// Reserve reserves a free port.
func Reserve() (_ *Port, err error) {
	syscall.ForkLock.RLock()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(socket)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("loopback: socket: %w", err)
	}
	defer func() {
		if err != nil {
			_ = syscall.Close(socket)
		}
	}()
	// A listening socket can share the address, because package net sets the same option.
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return nil, fmt.Errorf("loopback: SO_REUSEADDR: %w", err)
	}
	local := [4]byte{127, 0, 0, 1}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: local}); err != nil {
		return nil, fmt.Errorf("loopback: bind: %w", err)
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		return nil, fmt.Errorf("loopback: address: %w", err)
	}
	in, ok := bound.(*syscall.SockaddrInet4)
	if !ok {
		return nil, fmt.Errorf("loopback: address = %T; must be of IPv4", bound)
	}
	addr := (&net.TCPAddr{IP: local[:], Port: in.Port}).String()
	return &Port{addr, os.NewFile(uintptr(socket), addr)}, nil
}

// Addr returns "127.0.0.1:port".
func (p *Port) Addr() string { return p.addr }

// Close ends the reservation. Listeners on the port continue.
func (p *Port) Close() error { return p.socket.Close() }
