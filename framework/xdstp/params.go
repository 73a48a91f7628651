package xdstp

import (
	"cmp"
	"slices"
	"strings"
)

// param is one context parameter; both halves are canonical.
type param struct{ key, value string }

// canonicalParams returns the canonical form of a query: raw itself if it is
// canonical already.
func canonicalParams(raw string) (string, *Error) {
	if raw == "" {
		return "", nil
	}
	var last param
	for piece := range strings.SplitSeq(raw, "&") {
		if piece == "" {
			return normalizeParams(raw)
		}
		p, unchanged, err := parseParam(piece)
		if err != nil {
			return "", err
		}
		if !unchanged || compareKeys(last, p) >= 0 { // no key is empty, so the first is greater
			return normalizeParams(raw)
		}
		last = p
	}
	return raw, nil
}

// normalizeParams does the work of canonicalParams for a query that is not canonical.
func normalizeParams(raw string) (string, *Error) {
	var params []param
	for piece := range strings.SplitSeq(raw, "&") {
		if piece == "" {
			continue
		}
		p, _, err := parseParam(piece)
		if err != nil {
			return "", err
		}
		params = append(params, p)
	}
	return joinParams(params), nil
}

func parseParam(piece string) (p param, unchanged bool, err *Error) {
	rawKey, rawValue, hasValue := strings.Cut(piece, "=")
	if rawKey == "" {
		return p, false, failure("parameter", piece, "must have a key before '='")
	}
	var rule string
	if p.key, rule = canonical(rawKey, inParam); rule == "" {
		p.value, rule = canonical(rawValue, inParam)
	}
	if rule != "" {
		return p, false, failure("parameter", piece, rule)
	}
	return p, hasValue && p.key == rawKey && p.value == rawValue, nil
}

// joinParams sorts params and keeps the last of those with the same key.
func joinParams(params []param) string {
	slices.SortStableFunc(params, compareKeys)
	var out strings.Builder
	for i, p := range params {
		if i+1 < len(params) && params[i+1].key == p.key {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('&')
		}
		out.WriteString(p.key)
		out.WriteByte('=')
		out.WriteString(p.value)
	}
	return out.String()
}

// compareKeys orders parameters by their decoded keys, octet by octet.
func compareKeys(p, q param) int {
	a, b := p.key, q.key
	for a != "" && b != "" {
		x, n := octet(a)
		y, m := octet(b)
		if x != y {
			return cmp.Compare(x, y)
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}
