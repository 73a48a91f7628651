package server

import (
	"net"
	"testing"
)

func TestLobbyClosesWhatComesTooLate(t *testing.T) {
	l := NewLobby(&net.TCPAddr{})
	a, b := net.Pipe()
	defer b.Close()
	go l.Hand(a)
	if c, err := l.Accept(); err != nil || c != a {
		t.Fatalf("Accept: %v, %v", c, err)
	}
	_ = l.Close()
	_ = l.Close()
	if _, err := l.Accept(); err == nil {
		t.Error("Accept after Close")
	}
	l.Hand(a)
	if _, err := a.Write(nil); err == nil {
		t.Error("a late connection is still open")
	}
}
