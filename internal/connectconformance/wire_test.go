package main

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestMessages expects a message to keep its other fields when its port is replaced.
func TestMessages(t *testing.T) {
	m := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "host")
	m = protowire.AppendVarint(protowire.AppendTag(m, serverPort, protowire.VarintType), 80)
	m = protowire.AppendString(protowire.AppendTag(m, 3, protowire.BytesType), "pem")
	var b bytes.Buffer
	if err := writeMessage(&b, m); err != nil {
		t.Fatal(err)
	}
	got, err := readMessage(&b)
	if err != nil || !bytes.Equal(got, m) {
		t.Fatalf("the message is read as %q, %v; want %q", got, err, m)
	}
	if _, err := readMessage(&b); !errors.Is(err, io.EOF) {
		t.Errorf("the end is read as %v; want EOF", err)
	}
	if got, err = replaced(m, serverPort, 8080); err != nil {
		t.Fatal(err)
	}
	if port, err := number(got, serverPort); port != 8080 || err != nil || !bytes.Contains(got, []byte("pem")) {
		t.Errorf("the port is %d, %v in %q; want 8080 and the other fields", port, err, got)
	}
	if _, err := number([]byte{0xff}, serverPort); err == nil {
		t.Error("a damaged message is accepted")
	}
	if _, err := readMessage(bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff})); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a message of 4 GiB: %v; want an error about its length", err)
	}
}
