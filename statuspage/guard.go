package statuspage

import (
	"net/http"

	"github.com/xdsforge/xdsforge/internal/webguard"
)

// refusal returns the reason not to answer a request, or nil.
func (s *site) refusal(r *http.Request) *failure {
	if code, reason := webguard.Refusal(r, s.config.Hosts, "statuspage.Config.Hosts"); code != 0 {
		return &failure{code, reason}
	}
	return nil
}
