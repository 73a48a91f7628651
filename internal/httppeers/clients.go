package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A chaosClient is a program that sends requests to an address. In phases with resets, some requests ask the endpoint for one.
type chaosClient struct {
	name    string
	percent int  // of the requests
	nginx   bool // nginx forwards the requests
	send    func(ctx context.Context, addr string, requests int, resets bool) (result, error)
}

func chaosClients(dir string) []chaosClient {
	return []chaosClient{
		{"net/http", 40, false, sendByGo(true)},
		{"Node, agent", 20, false, sendByNode(dir, "agent")},
		{"Node, fetch", 15, false, sendByNode(dir, "fetch")},
		{"curl", 5, false, sendByCurl},
		{"nginx", 20, true, sendByGo(false)}, // it does not pass upgrades on
	}
}

// parallelChaos is the number of requests of a client at a time.
const parallelChaos = 4

// A counter counts the requests of one client. It is safe for concurrent use.
type counter struct {
	mu sync.Mutex
	result
}

func (c *counter) add(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Sent++
	if err == nil {
		return
	}
	c.Lost++
	if c.Why == nil {
		c.Why = make(map[string]int)
	}
	text := err.Error()
	c.Why[text[max(0, len(text)-60):]]++
}

// sendByGo sends requests by net/http, and an upgrade now and then.
func sendByGo(upgrades bool) func(context.Context, string, int, bool) (result, error) {
	return func(ctx context.Context, addr string, requests int, resets bool) (result, error) {
		tr := &http.Transport{MaxIdleConnsPerHost: parallelChaos, ResponseHeaderTimeout: 20 * time.Second}
		defer tr.CloseIdleConnections()
		var next atomic.Int64
		var c counter
		var wg sync.WaitGroup
		for range parallelChaos {
			wg.Go(func() {
				for n := next.Add(1); n <= int64(requests) && ctx.Err() == nil; n = next.Add(1) {
					if upgrades && n%97 == 0 {
						c.add(upgraded(ctx, addr))
					} else {
						c.add(one(ctx, tr, addr, int(n), resets))
					}
				}
			})
		}
		wg.Wait()
		return c.result, ctx.Err()
	}
}

// one sends one request. The number chooses its kind.
func one(ctx context.Context, tr *http.Transport, addr string, n int, resets bool) error {
	path, want, size := "/echo", http.StatusOK, 1+n*7919%(64<<10)
	switch {
	case n%50 == 0 && resets:
		path, want = "/reset", http.StatusBadGateway
	case n%5 == 0:
		path, want = "/early", http.StatusUnauthorized
	case n%7 == 0:
		path = "/close"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+path, onlyReader{bytes.NewReader(make([]byte, size))})
	if err != nil {
		return err
	}
	if n%2 == 0 {
		r.ContentLength = int64(size)
	}
	resp, err := tr.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode != want:
		return fmt.Errorf("%s: status %d", path, resp.StatusCode)
	case want == http.StatusOK && len(body) != len(path)+1+size:
		return fmt.Errorf("%s: %d bytes", path, len(body))
	}
	return nil
}

// onlyReader hides the other methods of a reader, so that net/http cannot read the body twice.
type onlyReader struct{ io.Reader }

// upgraded upgrades a connection, ends its direction, and expects the bytes back.
func upgraded(ctx context.Context, addr string) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "GET /upgrade HTTP/1.1\r\nHost: svc\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"); err != nil {
		return err
	}
	head := make([]byte, len("HTTP/1.1 101"))
	if _, err := io.ReadFull(c, head); err != nil {
		return fmt.Errorf("upgrade: %w", err)
	}
	if !bytes.HasSuffix(head, []byte("101")) {
		return fmt.Errorf("upgrade: %q", head)
	}
	half, ok := c.(*net.TCPConn)
	if !ok {
		return errors.New("no TCP connection")
	}
	if _, err := io.WriteString(c, "hello"); err != nil {
		return err
	}
	if err := half.CloseWrite(); err != nil {
		return err
	}
	all, err := io.ReadAll(c)
	if err == nil && !bytes.HasSuffix(all, []byte("hello")) {
		err = fmt.Errorf("upgrade: %q", all)
	}
	return err
}

//go:embed chaos.js
var chaosScript []byte

// sendByNode sends requests by Node's keep-alive agent or by its fetch.
func sendByNode(dir, mode string) func(context.Context, string, int, bool) (result, error) {
	return func(ctx context.Context, addr string, requests int, resets bool) (out result, err error) {
		path := filepath.Join(dir, mode+addr[strings.LastIndexByte(addr, ':')+1:]+".js")
		if err := os.WriteFile(path, chaosScript, 0o600); err != nil {
			return out, err
		}
		c := exec.CommandContext(ctx, "node", path, mode, addr, strconv.Itoa(requests), strconv.Itoa(parallelChaos), strconv.FormatBool(resets)) //nolint:gosec // the script of this package
		c.Stderr = os.Stderr
		text, err := c.Output()
		if err != nil {
			return out, err
		}
		err = json.Unmarshal(text, &out)
		return out, err
	}
}

// perCurl is the number of requests of one curl, on one connection.
const perCurl = 50

// sendByCurl sends requests by curl, one process after the other.
func sendByCurl(ctx context.Context, addr string, requests int, _ bool) (result, error) {
	var c counter
	for range requests / perCurl {
		args := []string{"-sS", "--max-time", "60", "-o", "/dev/null", "-w", "%{http_code}\n", "-d", "hello", fmt.Sprintf("http://%s/echo?[1-%d]", addr, perCurl)}
		out, err := exec.CommandContext(ctx, "curl", args...).CombinedOutput() //nolint:gosec // a fixed program
		if ctx.Err() != nil {
			return c.result, ctx.Err()
		}
		codes := strings.Fields(string(out))
		for i := range perCurl {
			switch {
			case i < len(codes) && codes[i] == "200":
				c.add(nil)
			case i < len(codes):
				c.add(errors.New("status " + codes[i]))
			default:
				c.add(fmt.Errorf("curl: %w", err))
			}
		}
	}
	return c.result, nil
}
