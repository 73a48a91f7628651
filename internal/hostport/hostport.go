// Package hostport splits the authorities of HTTP requests as Envoy does.
package hostport

import (
	"strconv"
	"strings"
)

// Cut returns the host and the port of an authority. The brackets of an IPv6 address stay. It returns false if the authority
// has no port, or one that is not a decimal number.
func Cut(authority string) (host, port string, ok bool) {
	i := strings.LastIndexByte(authority, ':')
	if i < 0 || strings.IndexByte(authority[i:], ']') >= 0 { // a colon of an IPv6 address
		return authority, "", false
	}
	if _, err := strconv.ParseUint(authority[i+1:], 10, 16); err != nil {
		return authority, "", false
	}
	return authority[:i], authority[i+1:], true
}
