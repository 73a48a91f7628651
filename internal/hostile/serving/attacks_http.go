package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// httpAttacks are attacks on the port of the status.
func httpAttacks() []attack {
	to := func(a *attacker) string { return a.HTTP }
	post := func(path, kind string, size int) string {
		return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", path, kind, size)
	}
	part := "--b\r\nContent-Disposition: form-data; name=\"node\"\r\n\r\n"
	file := "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n"
	return []attack{
		connections("http: 3,000 connections without a byte", to, ""),
		connections("http: 3,000 connections with a part of a header", to, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "),
		connections("http: 3,000 idle connections after a request", to, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		connections("http: 3,000 bodies that never end", to, post("/", "text/plain", 1<<30)+"x"),
		https("http: a form of 30 MiB", 1, post("/", "multipart/form-data; boundary=b", 30<<20)+part, 30<<20),
		https("http: a file of 256 MiB in a form", 1, post("/", "multipart/form-data; boundary=b", 1<<28)+file, 1<<28),
		https("http: 100 headers of 1 MiB", 100, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Large: ", 1<<20),
		https("http: 100 requests of a query of 900 KiB", 100, "GET /?node="+strings.Repeat("x", 900<<10)+" HTTP/1.1\r\nHost: localhost\r\n\r\n", 0),
		{name: "http: 200 requests whose responses nobody reads, 2,000 clients", scene: scene{clusters: 10}, budget: 2000*streamMemory + 8*request, run: func(a *attacker) error {
			a.begin()
			if err := a.openMany(2000, delta, subscription(), settling); err != nil {
				return err
			}
			for range 200 {
				c, err := dial(context.Background(), a.HTTP)
				if err != nil {
					return err
				}
				if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
					return err
				}
				if _, err := io.WriteString(c, "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
					break
				}
			}
			return settle()
		}},
	}
}

// https returns an attack that sends a request of a size after its head on each of n connections, and reads the answers.
func https(name string, n int, head string, size int) attack {
	return attack{name: name, scene: scene{clusters: 10}, budget: request, run: func(a *attacker) error {
		block := []byte(strings.Repeat("x", 1<<16))
		a.begin()
		for range n {
			c, err := dial(context.Background(), a.HTTP)
			if err != nil {
				return err
			}
			go func() { _, _ = io.Copy(io.Discard, c) }()
			if err := c.SetWriteDeadline(time.Now().Add(5 * settling)); err != nil {
				return err
			}
			sent, err := io.WriteString(c, head)
			for sent < len(head)+size && err == nil {
				var k int
				k, err = c.Write(block)
				sent += k
			}
			a.wire.Add(int64(sent)) // the server may end the connection
		}
		return settle()
	}}
}
