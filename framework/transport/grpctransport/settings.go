package grpctransport

import (
	"context"
	"encoding/binary"
	"math"
	"net"
	"sync/atomic"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/credentials"
)

const (
	frameHeader = 9 // bytes: a length of 24 bits, type, flags, stream
	setting     = 6 // bytes: identifier, value
)

// An observedBundle is a bundle that counts the bytes of all its connections and records the
// server's stream limit on the newest one. grpc-go does not report it.
type observedBundle struct {
	credentials.Bundle
	arrivals *arrivals
	limit    *atomic.Uint32
}

// TransportCredentials implements [credentials.Bundle].
func (b observedBundle) TransportCredentials() credentials.TransportCredentials {
	return observedCredentials{b.Bundle.TransportCredentials(), b.arrivals, b.limit}
}

type observedCredentials struct {
	credentials.TransportCredentials
	arrivals *arrivals
	limit    *atomic.Uint32
}

// ClientHandshake implements [credentials.TransportCredentials].
func (c observedCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ClientHandshake(ctx, authority, countedConn{conn, c.arrivals})
	if err != nil {
		return nil, nil, err
	}
	c.limit.Store(math.MaxUint32) // until the server sends another one (RFC 9113, section 6.5.2)
	return &limitedConn{Conn: conn, limit: c.limit}, info, nil
}

// Clone implements [credentials.TransportCredentials].
func (c observedCredentials) Clone() credentials.TransportCredentials {
	return observedCredentials{c.TransportCredentials.Clone(), c.arrivals, c.limit}
}

// A limitedConn looks for SETTINGS_MAX_CONCURRENT_STREAMS in the frames that are read from it. The
// single reading goroutine owns its state.
type limitedConn struct {
	net.Conn
	limit    *atomic.Uint32
	part     [frameHeader]byte // of a frame's header or a setting
	have     int               // bytes of part
	payload  int               // remaining bytes of the frame
	settings bool              // the frame contains settings
}

// Read implements [net.Conn].
func (c *limitedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.scan(b[:n])
	return n, err
}

func (c *limitedConn) scan(b []byte) {
	for len(b) > 0 {
		if c.payload > 0 && !c.settings {
			n := min(c.payload, len(b))
			b, c.payload = b[n:], c.payload-n
			continue
		}
		want := frameHeader
		if c.payload > 0 {
			want = setting
		}
		n := copy(c.part[c.have:want], b)
		b, c.have = b[n:], c.have+n
		if c.have < want {
			return
		}
		c.have = 0
		if c.payload == 0 {
			c.header()
		} else {
			c.setting()
		}
	}
}

func (c *limitedConn) header() {
	c.payload = int(binary.BigEndian.Uint32(c.part[:]) >> 8)
	// A frame with incomplete settings ends the connection.
	c.settings = http2.FrameType(c.part[3]) == http2.FrameSettings && c.payload%setting == 0
}

func (c *limitedConn) setting() {
	c.payload -= setting
	if http2.SettingID(binary.BigEndian.Uint16(c.part[:])) == http2.SettingMaxConcurrentStreams {
		c.limit.Store(binary.BigEndian.Uint32(c.part[2:]))
	}
}
