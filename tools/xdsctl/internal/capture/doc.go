// Package capture observes the streams between xDS clients and control planes, writes them to a file,
// and serves the responses of such a file.
//
// A [Transport] observes the streams of a client. A [Proxy] passes on those of another process. A
// [Replay] is a control plane that sends the responses of a file.
package capture
