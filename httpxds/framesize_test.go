package httpxds_test

import (
	"io"
	"net"
	"net/http"
	"testing"

	"golang.org/x/net/http2"

	"github.com/xdsforge/xdsforge/httpxds"
)

// TestFrameSize expects connections of HTTP/2 to accept frames of 32 KiB, unless the template says otherwise.
func TestFrameSize(t *testing.T) {
	for _, tt := range []struct {
		base *http.Transport
		want uint32
	}{
		{new(http.Transport), 32 << 10},
		{&http.Transport{HTTP2: &http.HTTP2Config{SendPingTimeout: 1 << 40}}, 32 << 10},
		{&http.Transport{HTTP2: &http.HTTP2Config{MaxReadFrameSize: 1 << 20}}, 1 << 20},
	} {
		lis, err := (&net.ListenConfig{}).Listen(soon(t), "tcp", "127.0.0.1:0")
		check(t, err)
		sizes := make(chan uint32, 1)
		go func() {
			defer close(sizes)
			c, err := lis.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			size, err := announced(c)
			if err != nil {
				t.Error(err)
				return
			}
			sizes <- size
		}()
		rt := single(t, lis.Addr().String(), "", httpxds.WithProtocol(httpxds.HTTP2), httpxds.WithBase(tt.base))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = get(t, rt, "http://svc/") // it has no response
		}()
		if got := <-sizes; got != tt.want {
			t.Errorf("the client accepts frames of %d bytes; want %d", got, tt.want)
		}
		check(t, rt.Close())
		<-ended
		check(t, lis.Close())
	}
}

// announced returns the size of frames that the client of a new connection accepts.
func announced(c net.Conn) (uint32, error) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c, preface); err != nil {
		return 0, err
	}
	f, err := http2.NewFramer(c, c).ReadFrame()
	if err != nil {
		return 0, err
	}
	size, _ := f.(*http2.SettingsFrame).Value(http2.SettingMaxFrameSize)
	return size, nil
}
