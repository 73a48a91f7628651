package statuspage

import (
	"net/http"

	"github.com/xdsforge/xdsforge"
)

// A Config sets up the handler. Its zero value is that of [Handler].
type Config struct {
	// Hosts are further host names under which browsers reach the handler, without port. IP addresses,
	// localhost and names below localhost always work.
	Hosts []string
	// CSDS is the address of the program's gRPC server with the services of package adminxds, such as
	// "localhost:5555". The pages show it in commands of xdsctl. Default: the placeholder "ADDR".
	CSDS string
}

// Handler returns a handler with the pages for the environments. Without environments, it shows those
// that the process has in use at the time of a request. The handler works at any path that ends with a
// slash, with or without [http.StripPrefix].
func Handler(envs ...*xdsforge.Env) http.Handler { return Config{}.Handler(envs...) }

// Handler returns a handler as the function Handler does.
func (c Config) Handler(envs ...*xdsforge.Env) http.Handler { return newSite(c, envs) }
