package bootstrap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// serverKey returns the digest of what makes servers different. It is a digest so
// that keys can be logged, and JSON so that parts cannot run into each other.
func serverKey(s *Server) string {
	type creds struct{ Type, Config string }
	key := struct {
		URI      string
		Channel  creds
		Call     []creds
		Features []string
	}{
		URI:      canonicalURI(s.uri),
		Channel:  creds{s.channelCreds.typ, canonicalJSON(s.channelCreds.config)},
		Features: s.features,
	}
	for _, c := range s.callCreds {
		key.Call = append(key.Call, creds{c.typ, canonicalJSON(c.config)})
	}
	text, _ := json.Marshal(key) // strings always marshal
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}

// canonicalJSON returns an object in a form that depends only on its value:
// members sorted, no space. Numbers keep their digits, so that none are taken for
// equal that a reader could tell apart. An empty object configures nothing, just as
// an absent one.
func canonicalJSON(raw json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil || len(fields) == 0 {
		return "" // absent; buildCreds has checked that it is an object
	}
	text, _ := json.Marshal(fields) // it was decoded from JSON
	return string(text)
}

// canonicalURI returns the same text for targets that gRPC cannot tell apart,
// whatever resolvers a program registers. It does not guess: a doubtful target
// stays as it is, which costs at most a second channel.
//
//   - The dns scheme without a DNS server has three forms, with the same
//     endpoint: dns:h, dns:/h and dns:///h.
//   - A target that has no scheme uses dns, gRPC's default. "h:1" might have the
//     scheme h, but a dotted name before a port is no scheme of any resolver, and an
//     IP address is none by RFC 3986.
func canonicalURI(uri string) string {
	before, after, found := strings.Cut(uri, ":")
	switch {
	case found && strings.EqualFold(before, "dns"):
		if rest, ok := strings.CutPrefix(after, "///"); ok {
			return "dns:///" + rest
		}
		if strings.HasPrefix(after, "//") {
			return uri // with a DNS server
		}
		return "dns:///" + strings.TrimPrefix(after, "/")
	case strings.ContainsAny(uri, "/%?#"):
		return uri
	case !found, !isScheme(before), strings.Contains(before, ".") && isPort(after):
		return "dns:///" + uri
	}
	return uri
}

// isScheme reports whether s can be a URI scheme (RFC 3986 section 3.1).
func isScheme(s string) bool {
	for i, c := range s {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", c)) {
			return false
		}
	}
	return s != ""
}

func isPort(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
