package webguard

import (
	"net/http"
	"time"
)

// Limits of the servers of pages. Pages are small, and no request has a body.
const (
	headerTime  = 10 * time.Second
	readTime    = 30 * time.Second
	writeTime   = time.Minute
	idleTime    = time.Minute
	headerBytes = 64 << 10 // net/http adds 4 KiB
)

// NewServer returns a server of pages for operators with limits of time and size, so that a client that is slow, idle or
// hostile does not keep a connection. A handler with longer responses moves its own deadlines (http.ResponseController).
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerBytes,
	}
}
