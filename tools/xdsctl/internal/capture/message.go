package capture

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/transport"
)

// A Direction is that of a message, as the client sees it.
type Direction string

// The directions. An opened or closed stream has no message.
const (
	Opened   Direction = "opened"
	Sent     Direction = "sent"
	Received Direction = "received"
	Closed   Direction = "closed"
)

// A Message is a message of a stream, or its begin or end.
type Message struct {
	// Seconds is the time since the capture began.
	Seconds float64 `json:"seconds"`
	// Server is the control plane, and Stream the number of the stream, from 1.
	Server string    `json:"server"`
	Stream int       `json:"stream"`
	Method string    `json:"method"`
	Kind   Direction `json:"kind"`
	// Bytes is the encoded message.
	Bytes []byte `json:"message,omitempty"`
	// Error is why the stream ended.
	Error string `json:"error,omitempty"`
	// Summary describes the message for people. Reading a file ignores it.
	Summary string `json:"summary,omitempty"`
}

// isADS reports whether a method is one of the two variants of ADS.
func isADS(method string) bool {
	return method == transport.MethodADS || method == transport.MethodDeltaADS
}

// A header is the first line of a file.
type header struct {
	Version int       `json:"xdsctl_record"`
	Started time.Time `json:"started"`
}

const fileVersion = 1

// The limits of a file that is read.
const (
	// MaxFile is the limit of a file in bytes.
	MaxFile = 1 << 30
	// maxLine is the limit of a line in bytes. A message has a third more bytes in it.
	maxLine = 512 << 20
)

// A Writer writes messages to a file, one a line. Any goroutine may use it.
type Writer struct {
	mu  sync.Mutex
	enc *json.Encoder
	err error
}

// NewWriter writes the begin of a file.
func NewWriter(w io.Writer, started time.Time) (*Writer, error) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &Writer{enc: enc}, enc.Encode(header{fileVersion, started})
}

// Write writes a message.
func (w *Writer) Write(m Message) {
	m.Summary = Describe(m)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = errors.Join(w.err, w.enc.Encode(m))
}

// Err returns the errors of all writes.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Read returns the messages of a file.
func Read(r io.Reader) ([]Message, error) {
	lines := bufio.NewScanner(io.LimitReader(r, MaxFile+1))
	lines.Buffer(nil, maxLine)
	var list []Message
	size := 0
	for n := 1; lines.Scan(); n++ {
		if size += len(lines.Bytes()) + 1; size > MaxFile {
			return nil, fmt.Errorf("the file has more than %d bytes", MaxFile)
		}
		if n == 1 {
			var h header
			if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h.Version != fileVersion {
				return nil, fmt.Errorf("line 1: xdsctl_record = %d; must be %d, as the command record writes it", h.Version, fileVersion)
			}
			continue
		}
		var m Message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		list = append(list, m)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, errors.New("the file is empty")
	}
	return list, nil
}
