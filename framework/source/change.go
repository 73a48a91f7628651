package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/internal/versiontext"
)

// A Key identifies a resource.
type Key struct {
	Type string // type URL, such as "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	Name string // canonical
}

// A Resource is an encoded resource. Nobody changes its slices and its Err after it was passed on.
type Resource struct {
	Key
	// Version identifies the content, and must be equal for equal content only. [Version] makes one
	// of the content. [SameVersion] compares them.
	Version string
	// Body is the encoded message. It is nil if Err is set.
	Body []byte
	// Aliases are other names of the resource, for the delta protocol. They have the authority of its name.
	Aliases []string
	// Expires is the time at which the resource ceases to exist. The zero time is never.
	Expires time.Time
	// TTL is the time for which a client may use the resource without a heartbeat. Zero is for ever.
	TTL time.Duration
	// Err is the reason why there is no resource (xRFC TP3).
	Err *rpcstatus.Status
}

// A Change is a step from one state of a Source to a later one.
type Change struct {
	// Epoch identifies a history of revisions. With a new epoch, everything that the session
	// reported before is void, and the change has all resources of the wanted interests.
	Epoch string
	// Revision is the state that the session has reached with this change. It never decreases within
	// an epoch.
	Revision uint64
	// Put has new and changed resources.
	Put []Resource
	// Delete has the keys of resources that do not exist any longer.
	Delete []Key
	// Complete has interests of which all resources are now reported: in this change, or since Want
	// added the interest.
	Complete []Interest
}

// Version returns the version of a resource by its content: 16 hexadecimal digits of a SHA-256. All
// processes agree on it, so that a client that reconnects elsewhere receives only the differences.
func Version(r *Resource) string {
	h := sha256.New()
	if len(r.Aliases) == 0 && r.TTL == 0 && r.Err == nil {
		h.Write(r.Body)
	} else {
		_ = json.NewEncoder(h).Encode(struct {
			Body    []byte
			Aliases []string
			TTL     time.Duration
			Code    int32
			Text    string
		}{r.Body, r.Aliases, r.TTL, r.Err.GetCode(), r.Err.GetMessage()}) // always encodes
	}
	return hex.EncodeToString(h.Sum(nil)[:versiontext.Digits/2])
}

// SameVersion reports whether two versions identify the same content. Versions that [Version] and the
// stores of this module write are compared by their digest, without the revision before it. Others are
// compared as a whole. An empty version identifies nothing.
func SameVersion(a, b string) bool { return versiontext.Same(a, b) }
