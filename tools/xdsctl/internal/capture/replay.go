package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/transport"
)

// A Replay is a control plane that sends the responses of a recorded session. A stream gets the
// responses of each type in their order. It gets the next one when it has answered the last one, and
// has asked for a name for which the recorded client got that response or a later one.
type Replay struct {
	// Timing delays responses to the times of the recording.
	Timing bool
	// Log is called for each message, and for the end of a session. Nil: nothing is logged.
	Log func(text string)

	scripts map[string][]scripted // by method
	begin   map[string]float64    // when the first stream of a method opened
}

// A scripted response is one of a recording.
type scripted struct {
	url     string
	nonce   string
	added   []string // names that the client asked for since the previous response of the type
	seconds float64
	bytes   []byte
}

// everything is the name that stands for a wildcard.
const everything = "*"

// NewReplay returns the control plane of a recording with the given URI. An empty URI is that of the
// only control plane in the recording.
func NewReplay(list []Message, server string) (*Replay, error) {
	var servers []string
	for _, m := range list {
		if !slices.Contains(servers, m.Server) {
			servers = append(servers, m.Server)
		}
	}
	switch {
	case len(servers) == 0:
		return nil, errors.New("the recording has no messages")
	case server == "" && len(servers) > 1:
		return nil, fmt.Errorf("--server = \"\"; must be one of the control planes of the recording: %q", servers)
	case server != "" && !slices.Contains(servers, server):
		return nil, fmt.Errorf("--server = %q; must be one of the control planes of the recording: %q", server, servers)
	}
	r := &Replay{scripts: make(map[string][]scripted), begin: make(map[string]float64)}
	asked := make(map[string]*subscribed) // by stream and type
	for i, m := range list {
		if server != "" && m.Server != server {
			continue
		}
		if _, ok := r.begin[m.Method]; !ok {
			r.begin[m.Method] = m.Seconds
		}
		if err := r.read(m, asked); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	return r, nil
}

// subscribed has the names that the recorded client asked for on a stream.
type subscribed struct{ all, since []string }

func (s *subscribed) add(names []string) {
	for _, n := range names {
		if !slices.Contains(s.all, n) {
			s.all, s.since = append(s.all, n), append(s.since, n)
		}
	}
}

func of(asked map[string]*subscribed, m Message, url string) *subscribed {
	key := fmt.Sprint(m.Stream, url)
	if asked[key] == nil {
		asked[key] = new(subscribed)
	}
	return asked[key]
}

// read adds a recorded message to the script.
func (r *Replay) read(m Message, asked map[string]*subscribed) error {
	switch m.Kind {
	case Sent:
		q, err := readRequest(m.Method, m.Bytes)
		if err != nil {
			return err
		}
		of(asked, m, q.url).add(q.names)
	case Received:
		s, err := readResponse(m.Method, m.Bytes)
		if err != nil {
			return err
		}
		names := of(asked, m, s.url)
		s.seconds, s.added, names.since = m.Seconds, names.since, nil
		r.scripts[m.Method] = append(r.scripts[m.Method], s)
	case Opened, Closed:
	}
	return nil
}

// A request is what a replay reads of a request.
type request struct {
	url, nonce string
	names      []string // that it adds
}

func readRequest(method string, data []byte) (request, error) {
	if method == transport.MethodDeltaADS {
		m := new(discoveryv3.DeltaDiscoveryRequest)
		err := proto.Unmarshal(data, m)
		names := m.GetResourceNamesSubscribe()
		if len(names) == 0 && m.GetResponseNonce() == "" && len(m.GetResourceNamesUnsubscribe()) == 0 {
			names = []string{everything}
		}
		return request{m.GetTypeUrl(), m.GetResponseNonce(), names}, err
	}
	m := new(discoveryv3.DiscoveryRequest)
	err := proto.Unmarshal(data, m)
	names := m.GetResourceNames()
	if len(names) == 0 {
		names = []string{everything}
	}
	return request{m.GetTypeUrl(), m.GetResponseNonce(), names}, err
}

func readResponse(method string, data []byte) (scripted, error) {
	if method == transport.MethodDeltaADS {
		m := new(discoveryv3.DeltaDiscoveryResponse)
		err := proto.Unmarshal(data, m)
		return scripted{url: m.GetTypeUrl(), nonce: m.GetNonce(), bytes: data}, err
	}
	m := new(discoveryv3.DiscoveryResponse)
	err := proto.Unmarshal(data, m)
	return scripted{url: m.GetTypeUrl(), nonce: m.GetNonce(), bytes: data}, err
}

// Handle is a handler of Serve.
func (r *Replay) Handle(ctx context.Context, method string, s transport.Stream) error {
	script, ok := r.scripts[method]
	if !ok {
		return fmt.Errorf("the recording has no stream of %s: %w", method[strings.LastIndexByte(method, '/')+1:], transport.ErrUnimplemented)
	}
	p := &player{Replay: r, method: method, stream: s, began: time.Now(), types: make(map[string]*progress)}
	for _, x := range script {
		t := p.progress(x.url)
		t.left = append(t.left, x)
	}
	requests := make(chan request)
	failed := make(chan error, 1)
	go p.receive(ctx, requests, failed)
	return p.play(ctx, requests, failed)
}

// A player sends the script to one stream.
type player struct {
	*Replay
	method string
	stream transport.Stream
	began  time.Time
	types  map[string]*progress
	done   bool
}

// progress is that of a type on a stream.
type progress struct {
	left     []scripted
	names    []string // that the client has asked for
	awaiting string   // the nonce that the client must answer
	asked    bool
	missing  []string // names that the client asked for since the last response
	answered []string // names that a response was the answer to
	sent     [][]byte
	repeats  int
}

func (p *player) progress(url string) *progress {
	t := p.types[url]
	if t == nil {
		t = new(progress)
		p.types[url] = t
	}
	return t
}

func (p *player) log(format string, args ...any) {
	if p.Log != nil {
		p.Log(fmt.Sprintf(format, args...))
	}
}

// receive reads requests until the stream ends.
func (p *player) receive(ctx context.Context, requests chan<- request, failed chan<- error) {
	for {
		msg, err := p.stream.Receive()
		if err != nil {
			failed <- err
			return
		}
		p.log("%s", Describe(Message{Method: p.method, Kind: Sent, Bytes: msg}))
		q, err := readRequest(p.method, msg)
		if err != nil {
			failed <- err
			return
		}
		select {
		case requests <- q:
		case <-ctx.Done():
			return
		}
	}
}

// play sends responses as requests arrive, and as their times come.
func (p *player) play(ctx context.Context, requests <-chan request, failed <-chan error) error {
	for {
		wait, err := p.send()
		if err != nil {
			return err
		}
		var timer <-chan time.Time
		var stop func() bool
		if wait > 0 {
			t := time.NewTimer(wait)
			timer, stop = t.C, t.Stop
		}
		select {
		case q := <-requests:
			p.asked(q)
		case <-timer:
		case err = <-failed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if stop != nil {
			stop()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// asked records a request.
func (p *player) asked(q request) {
	t := p.progress(q.url)
	t.asked = true
	for _, n := range q.names {
		if !slices.Contains(t.names, n) {
			t.names, t.missing = append(t.names, n), append(t.missing, n)
		}
	}
	if q.nonce == t.awaiting {
		t.awaiting = ""
	}
}

// send sends the responses whose turn it is. It returns the time until the next one, or 0.
func (p *player) send() (wait time.Duration, err error) {
	left := 0
	for _, t := range p.types {
		left += len(t.left)
		if t.mustRepeat() {
			if err := p.repeat(t); err != nil {
				return 0, err
			}
		}
		for t.asked && t.awaiting == "" && t.wantsNext() {
			x := t.left[0]
			if d := p.delay(x); d > 0 {
				if wait == 0 || d < wait {
					wait = d
				}
				break
			}
			p.log("%s", Describe(Message{Method: p.method, Kind: Received, Bytes: x.bytes}))
			if err := p.stream.Send(x.bytes); err != nil {
				return 0, err
			}
			t.left, t.sent, t.awaiting = t.left[1:], append(t.sent, x.bytes), x.nonce
			t.answered, t.missing = append(t.answered, x.added...), nil
			left--
		}
	}
	if left == 0 && !p.done {
		p.done = true
		p.log("the recording ends; the stream stays open")
	}
	return wait, nil
}

// wantsNext reports whether the client gets the next response: it has asked for one of the names that
// the response was the answer to, or it waits for one that only a later response was the answer to.
func (t *progress) wantsNext() bool {
	if len(t.left) == 0 {
		return false
	}
	next := t.left[0].added
	asked := func(name string) bool { return slices.Contains(t.names, name) }
	if len(next) == 0 || asked(everything) || slices.Contains(next, everything) || slices.ContainsFunc(next, asked) {
		return true
	}
	return slices.ContainsFunc(t.left, func(x scripted) bool {
		return slices.ContainsFunc(x.added, func(name string) bool { return asked(name) && !slices.Contains(t.answered, name) })
	})
}

// mustRepeat reports whether the client waits for names that no response of the rest will be the
// answer to.
func (t *progress) mustRepeat() bool {
	if t.awaiting != "" || len(t.missing) == 0 {
		return false
	}
	return len(t.left) == 0 || slices.ContainsFunc(t.missing, func(name string) bool { return slices.Contains(t.answered, name) })
}

// delay returns the time until a response is due.
func (p *player) delay(x scripted) time.Duration {
	if !p.Timing {
		return 0
	}
	due := time.Duration((x.seconds - p.begin[p.method]) * float64(time.Second))
	return due - time.Since(p.began)
}
