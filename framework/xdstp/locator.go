package xdstp

import (
	"errors"
	"strings"
)

// Locator is a name with directives for finding its resource: TP1's URL, and the message
// xds.core.v3.ResourceLocator. Only Name goes on the wire.
type Locator struct {
	// Name is the resource or collection.
	Name Name
	// Entry is the name of an inlined entry of the list collection Name, or "".
	Entry string
	// Alternates are locators to use instead if Name's authority cannot be reached. TP1 allows one
	// for each locator, which may have its own.
	Alternates []Locator
}

// ParseLocator parses a name of either style with its directives:
//
//	xdstp://foo/some.Type/table#alt=xdstp://bar/some.Type/other,entry=x
//
// Directives are separated by commas, and each may appear once. Their values are percent-encoded.
// alt is an xdstp URI and may have directives itself, so a '#', ',' or '%' inside it is encoded
// once for each level. entry consists of letters, digits and "_-./~:" (resource_locator.proto). An
// old-style name is opaque, so its Locator has no directives. The error is an [*Error].
func ParseLocator(s string) (Locator, error) {
	if !strings.HasPrefix(s, scheme) {
		n, err := Opaque(s)
		return Locator{Name: n}, err
	}
	if err := checkText(s); err != nil {
		return Locator{}, err
	}
	uri, fragment, hasDirectives := strings.Cut(s, "#")
	n, err := parseURN(uri)
	if err != nil {
		return Locator{}, err
	}
	l := Locator{Name: n}
	if hasDirectives {
		if err := l.parseDirectives(fragment); err != nil {
			return Locator{}, err
		}
	}
	return l, nil
}

func (l *Locator) parseDirectives(fragment string) error {
	if strings.Contains(fragment, "#") {
		return failure("directive", fragment, `must have "#" encoded as "%23"`)
	}
	for directive := range strings.SplitSeq(fragment, ",") {
		key, raw, _ := strings.Cut(directive, "=")
		encoded, rule := canonical(raw, inParam)
		if rule != "" {
			return failure("directive", directive, rule)
		}
		value := decode(encoded)
		var err *Error
		switch key {
		case "alt":
			err = l.addAlternate(value)
		case "entry":
			err = l.setEntry(value)
		default:
			err = failure("directive", directive, "must be alt=<xdstp URI> or entry=<name>")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *Locator) addAlternate(value string) *Error {
	if l.Alternates != nil {
		return failure("alt", value, "must not be given twice")
	}
	if !strings.HasPrefix(value, scheme) {
		return failure("alt", value, "must be an xdstp URI")
	}
	alt, err := ParseLocator(value)
	if inner, ok := errors.AsType[*Error](err); ok {
		return failure("alt "+inner.Part, inner.Value, inner.Rule)
	}
	l.Alternates = []Locator{alt}
	return nil
}

func (l *Locator) setEntry(value string) *Error {
	if l.Entry != "" {
		return failure("entry", value, "must not be given twice")
	}
	outside := func(r rune) bool {
		return (r < '0' || '9' < r) && (r < 'A' || 'Z' < r) && (r < 'a' || 'z' < r) && !strings.ContainsRune("_-./~:", r)
	}
	if value == "" || strings.ContainsFunc(value, outside) {
		return failure("entry", value, `must be letters, digits and "_-./~:", at least one`)
	}
	l.Entry = value
	return nil
}
