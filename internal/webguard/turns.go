package webguard

import (
	"fmt"
	"net/http"
)

// maxAnswers is the number of answers that wait to be built or read at a time.
const maxAnswers = 16

// Turns bounds the work and the memory of large answers. One is built at a time, because each reads the states of all clients
// and would delay their messages. Beyond 16 at a time, until they are written, further requests fail with status 503.
type Turns struct {
	name            string
	slots, building chan struct{}
}

// NewTurns returns the turns of some pages. The name is the program's or package's, for errors.
func NewTurns(name string) *Turns {
	return &Turns{name, make(chan struct{}, maxAnswers), make(chan struct{}, 1)}
}

// Serve answers a request with the body that build returns.
func (t *Turns) Serve(w http.ResponseWriter, r *http.Request, build func() (body []byte, kind string, err error)) {
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	default:
		http.Error(w, fmt.Sprintf("%s: requests of the status at a time = %d; must not be more than %d; try again later", t.name, maxAnswers+1, maxAnswers), http.StatusServiceUnavailable)
		return
	}
	body, kind, err := t.turn(r, build)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(body) //nolint:gosec // build escapes its texts; the client may be gone
}

// turn builds an answer once no other one is built.
func (t *Turns) turn(r *http.Request, build func() (body []byte, kind string, err error)) (body []byte, kind string, err error) {
	select {
	case t.building <- struct{}{}:
		defer func() { <-t.building }()
		return build()
	case <-r.Context().Done():
		return nil, "", r.Context().Err()
	}
}
