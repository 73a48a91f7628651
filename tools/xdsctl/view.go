package xdsctl

import (
	"fmt"
	"time"

	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/output"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/world"
)

// An entryView is a resource in JSON and YAML.
type entryView struct {
	Scope      string     `json:"scope,omitempty"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	State      string     `json:"state"`
	Version    string     `json:"version,omitempty"`
	Updated    *time.Time `json:"updated,omitempty"`
	AgeSeconds *int64     `json:"age_seconds,omitempty"`
	Where      string     `json:"where,omitempty"`
	Error      *errorView `json:"error,omitempty"`
	Content    any        `json:"content,omitempty"`
	Rejected   any        `json:"rejected_content,omitempty"`
}

type errorView struct {
	Details         string     `json:"details"`
	RejectedVersion string     `json:"rejected_version,omitempty"`
	Time            *time.Time `json:"time,omitempty"`
}

func viewOf(e *world.Entry, now time.Time) entryView {
	v := entryView{Scope: e.Scope, Type: e.Type, Name: e.Name, State: e.State, Version: e.Version, Updated: pointer(e.Updated), Where: e.Where}
	if v.Updated != nil {
		age := int64(now.Sub(e.Updated) / time.Second)
		v.AgeSeconds = &age
	}
	if e.Error != "" {
		v.Error = &errorView{Details: e.Error, RejectedVersion: e.RejectedVersion, Time: pointer(e.ErrorAt)}
	}
	return v
}

func pointer(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// styleOf returns the colour of a state.
func styleOf(state string) output.Style {
	switch state {
	case world.Acked:
		return output.Good
	case world.Requested, "":
		return output.Warn
	default:
		return output.Bad
	}
}

// reason returns why a resource failed, in full.
func reason(e *world.Entry) string {
	text := e.Error
	if text == "" {
		if !e.Failed() {
			return ""
		}
		return "the client gives no reason"
	}
	if e.RejectedVersion != "" {
		text = fmt.Sprintf("version %s: %s", e.RejectedVersion, text)
	}
	if e.Version != "" && e.Failed() {
		text += fmt.Sprintf(" (version %s stays in use)", e.Version)
	}
	return text
}

// age returns how long ago t was, with at most two units. It is "" for the zero time.
func age(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := max(now.Sub(t), 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}
