// Package statefulsession is the filter of clients that keeps the calls of a session
// with one endpoint, by a cookie (gRFC A55): its configuration, read and validated.
package statefulsession
