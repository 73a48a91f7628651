package statuspage

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A shell reads the arguments of a command as they are, whatever a control plane puts into a name.
func TestShell(t *testing.T) {
	args := []string{"plain", "", "two words", "it's", `"quoted"`, "$(touch x)", "`x`", "a;b", "a\nb", "\x1b[31m", `back\slash`, "\\' \n", "ünïcode", "\u202e", "-flag", "*", "~", "!x", "{a,b}"}
	line := shell(append([]string{"printf", `%s\0`}, args...)...)
	if strings.ContainsAny(line, "\n\x1b\u202e") {
		t.Errorf("the command %q has invisible characters", line)
	}
	out, err := exec.CommandContext(t.Context(), "bash", "-c", line).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, args) {
		t.Errorf("the shell reads %q; want %q", got, args)
	}
}

// A name that starts with a hyphen is not a flag of xdsctl.
func TestNamesAreNotFlags(t *testing.T) {
	s := newSite(Config{CSDS: "localhost:5555"}, nil)
	if got, want := s.ofClient("get", "", "t", "--show-secrets"), "xdsctl get --conn localhost:5555 -- t --show-secrets"; got != want {
		t.Errorf("the command is %s; want %s", got, want)
	}
}

func TestWantsJSON(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "text/html": false, "application/json": true, "Application/JSON": true,
		"text/html, application/json": false, "application/json, text/html;q=0.5": true, "application/json;q=0.2, text/html;q=0.5": false,
		"text/html;q=0, application/json;q=0.1": true, "application/json;q=0": false, "text/plain, application/json; charset=utf-8": true,
		"application/json;q=nan": true,
	} {
		if got := wantsJSON(accept); got != want {
			t.Errorf("Accept %q wants JSON: %t", accept, got)
		}
	}
}
