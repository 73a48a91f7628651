package convert

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// maxHost is the limit of a DNS name in bytes (RFC 1035).
const maxHost = 253

// IsRegexp reports whether a text is a regular expression that [resource.DecodeContext.Regexp]
// compiles within the limits of the resource.
func IsRegexp(dc *resource.DecodeContext, text string) bool {
	_, err := dc.Regexp(text)
	return err == nil
}

// IsCIDR reports whether a text is an IP address and a prefix length, such as "10.0.0.0/8". The address
// may have bits beyond the prefix.
func IsCIDR(text string) bool {
	_, err := netip.ParsePrefix(text)
	return err == nil
}

// IsURL reports whether a text is an absolute URL, which has a scheme.
func IsURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.IsAbs()
}

// IsDuration reports whether a text is a duration of Go, such as "1m30s".
func IsDuration(text string) bool {
	_, err := time.ParseDuration(text)
	return err == nil
}

// IsHostPort reports whether a text is an IP address or a DNS name, and a port from 1 to 65535. An IPv6
// address is in brackets.
func IsHostPort(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return false
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Is6() == strings.HasPrefix(text, "[")
	}
	return isName(host) && !strings.HasPrefix(text, "[")
}

// isName reports whether a text has the length and the characters of a DNS name, or an underscore.
func isName(text string) bool {
	if text == "" || len(text) > maxHost {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(text, "."), ".") {
		if label == "" || strings.Trim(label, "-") != label || strings.ContainsFunc(label, notInName) {
			return false
		}
	}
	return true
}

func notInName(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
}
