package statuspage

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/statuspage/internal/inspect"
)

// functions returns the functions of the templates. The templates escape their results.
func functions() template.FuncMap {
	return template.FuncMap{
		"text":  func(s string) string { return printable.Text(s, printable.Quoted) },
		"whole": func(s string) string { return printable.Text(s, printable.Whole) },
		"err":   errorText,
		"lower": func(l inspect.Level) string { return strings.ToLower(string(l)) },
		"state": stateLevel,
		"short": inspect.ShortType,
		"link":  link,
		"ago":   ago,
		"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"stampOf": func(t time.Time) string {
			return t.UTC().Format("2006-01-02 15:04:05.000 MST")
		},
		"since":  func(now, then time.Time) string { return span(now.Sub(then)) },
		"span":   span,
		"number": number,
		"kib":    size,
		"percent": func(million uint32) string {
			return strconv.FormatFloat(float64(million)/10_000, 'g', 4, 64) + " %"
		},
		"indent": func(depth int) string { return strings.Repeat("  ", min(depth, 40)) },
		"event":  eventText,
		"add":    func(a, b int) int { return a + b },
		"json": func(v any) string {
			b, err := json.MarshalIndent(v, "", "  ")
			if err != nil {
				return err.Error()
			}
			return printable.Text(string(b), printable.Whole)
		},
		"list": func(values ...any) []any { return values },
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return printable.Text(err.Error(), printable.Whole)
}

// link returns a relative reference to a view with parameters, given as names and values. It leaves out
// empty ones.
func link(view string, params ...string) string {
	v := make(url.Values)
	for i := 0; i+1 < len(params); i += 2 {
		if params[i+1] != "" {
			v.Set(params[i], params[i+1])
		}
	}
	if len(v) == 0 {
		return "./" + view
	}
	return "./" + view + "?" + v.Encode()
}

// stateLevel returns the level of a connectivity state, a mode or a server state, for colors.
func stateLevel(state string) inspect.Level {
	switch state {
	case "READY", "SERVING", "ACKED", "CONNECTED", "HEALTHY":
		return inspect.Healthy
	case "TRANSIENT_FAILURE", "NOT_SERVING", "NACKED", "DOES_NOT_EXIST", "TIMEOUT", "RECEIVED_ERROR", "UNHEALTHY":
		return inspect.Broken
	case "WAITING", "DRAINING", "EJECTED":
		return inspect.Degraded
	}
	return inspect.Waiting
}

// ago returns the time since a moment.
func ago(now, then time.Time) string {
	d := now.Sub(then)
	if d < 0 {
		return "in " + span(-d)
	}
	return span(d) + " ago"
}

// span returns a duration in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " d"
}

// number returns a number with separators.
func number(v any) string {
	text := fmt.Sprint(v)
	var b strings.Builder
	for i, r := range text {
		if i > 0 && (len(text)-i)%3 == 0 && text[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// size returns a number of bytes.
func size(n uint64) string {
	switch {
	case n < 10<<10:
		return number(n) + " B"
	case n < 10<<20:
		return number(n>>10) + " KiB"
	}
	return number(n>>20) + " MiB"
}

// eventText returns the text of an event without its time and kind.
func eventText(e status.Event) string {
	e.Time = time.Time{}
	text := strings.TrimPrefix(e.String(), string(e.Kind))
	return printable.Text(strings.TrimSpace(text), printable.Whole)
}
