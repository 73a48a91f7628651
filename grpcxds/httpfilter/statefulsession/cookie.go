package statefulsession

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	config "github.com/xdsforge/xdsforge/plugins/httpfilter/statefulsession"
)

// maxCookie is the limit of the value of a cookie, which is that of browsers. A longer one is ignored.
const maxCookie = 4096

// A cookie has the configuration of a filter.
type cookie struct {
	name, path string
	ttl        time.Duration
	// attributes follow the value in set-cookie.
	attributes string
}

func newCookie(c config.Config) *cookie {
	attributes := "; HttpOnly; Path=" + c.Path
	if c.TTL > 0 {
		attributes += "; Max-Age=" + strconv.FormatInt(int64(c.TTL/time.Second), 10)
	}
	return &cookie{name: c.Name, path: c.Path, ttl: c.TTL, attributes: attributes}
}

// A value is the decoded value of a cookie: the addresses of an endpoint, separated by commas, and its cluster. The
// cluster is empty if a cluster specifier plugin chooses it.
type value struct{ list, cluster string }

// addresses returns the addresses.
func (v value) addresses() []string {
	if v.list == "" {
		return nil
	}
	return strings.Split(v.list, ",")
}

// find returns the value of the first cookie with the name. It is zero if there is none, or if it is malformed.
func (c *cookie) find(headers []string) value {
	for _, h := range headers {
		for pair := range strings.SplitSeq(h, ";") {
			name, text, ok := strings.Cut(strings.TrimSpace(pair), "=")
			if ok && name == c.name {
				return decode(text)
			}
		}
	}
	return value{}
}

func decode(text string) value {
	text = strings.TrimRight(strings.Trim(text, `"`), "=")
	if len(text) > maxCookie {
		return value{}
	}
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return value{}
	}
	list, cluster, _ := strings.Cut(string(b), ";")
	return value{list, cluster}
}

// set returns the set-cookie header of a value.
func (c *cookie) set(v value) string {
	text := v.list
	if v.cluster != "" {
		text += ";" + v.cluster
	}
	return c.name + "=" + base64.StdEncoding.EncodeToString([]byte(text)) + c.attributes
}

// covers reports whether the path of a cookie covers that of a call (RFC 6265, section 5.1.4).
func covers(cookie, method string) bool {
	rest, ok := strings.CutPrefix(method, cookie)
	return ok && (rest == "" || strings.HasSuffix(cookie, "/") || rest[0] == '/')
}
