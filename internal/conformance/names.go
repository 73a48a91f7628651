package main

import (
	"maps"
	"net/url"
	"strings"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// nameRow is a row of xdstp_names. Nil and empty fields are not compared.
type nameRow struct {
	Input              string
	Kind               string // urn, url, glob, list_collection
	ExpectResourceType string `json:"expect_resource_type"`
	WantOK             bool   `json:"want_ok"`
	WantName           string `json:"want_name"`
	IsXdstp            *bool  `json:"is_xdstp"`
	Parts              *nameParts
	Glob               string
	GlobMatches        bool `json:"glob_matches"`
}

// nameParts are the parts of a name, decoded.
type nameParts struct {
	Authority     string
	Type          string
	ID            string
	ContextParams map[string]string `json:"context_params"`
	Directives    []directive
	Fragment      *string
}

type directive struct {
	Entry string
	Alt   *nameParts
}

func judgeName(v *verdict, row nameRow) error {
	l, err := xdstp.ParseLocator(row.Input)
	n := l.Name
	if err == nil && row.ExpectResourceType != "" {
		err = n.CheckType(row.ExpectResourceType)
	}
	if !v.compareOK(row.WantOK, err) {
		return nil
	}
	v.compare("name", row.WantName, n.String())
	again, err := xdstp.Parse(n.String())
	v.compare("the name parsed again", n.String(), again.String())
	if err != nil {
		v.differences = append(v.differences, err.Error())
	}
	if row.IsXdstp != nil {
		v.compare("is_xdstp", *row.IsXdstp, n.IsXdstp())
	}
	if row.Parts != nil {
		compareParts(v, "", *row.Parts, l)
	}
	compareKind(v, row.Kind, l)
	if row.Glob != "" {
		glob, err := xdstp.Parse(row.Glob)
		v.compare("glob_matches", row.GlobMatches, err == nil && glob.Contains(n))
	}
	return nil
}

func compareKind(v *verdict, kind string, l xdstp.Locator) {
	switch kind {
	case "urn":
		v.compare("is a URN", true, !l.Name.IsGlob() && l.Entry == "" && l.Alternates == nil)
	case "glob":
		v.compare("is a glob", true, l.Name.IsGlob())
	case "list_collection":
		v.compare("is a list collection", true, l.Name.IsCollection())
	}
}

func compareParts(v *verdict, where string, want nameParts, l xdstp.Locator) {
	n := l.Name
	v.compare(where+"authority", want.Authority, n.Authority())
	v.compare(where+"type", want.Type, n.Type())
	// Rows from one peer have the id of a row here instead of the id in the name.
	if !strings.HasPrefix(want.ID, "names_go-") {
		id, _ := url.PathUnescape(n.ID()) // a Name has no bad escapes
		v.compare(where+"id", want.ID, id)
	}
	if want.ContextParams != nil {
		v.compare(where+"params", want.ContextParams, maps.Collect(n.Params()))
	}
	if want.Fragment != nil {
		v.compare(where+"fragment", *want.Fragment, fragment(l))
	}
	for _, d := range want.Directives {
		if d.Alt == nil {
			v.compare(where+"entry", d.Entry, l.Entry)
			continue
		}
		v.compare(where+"alternates", 1, len(l.Alternates))
		for _, alt := range l.Alternates {
			compareParts(v, where+"alt ", *d.Alt, alt)
		}
	}
}

// fragment writes the directives of a locator whose alternative has none.
func fragment(l xdstp.Locator) string {
	var directives []string
	if l.Entry != "" {
		directives = append(directives, "entry="+l.Entry)
	}
	for _, alt := range l.Alternates {
		directives = append(directives, "alt="+alt.Name.String())
	}
	return strings.Join(directives, ",")
}
