package statuspage

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/statuspage/internal/inspect"
)

// xdsctl returns a command of xdsctl, with its arguments quoted for a shell.
func (s *site) xdsctl(args ...string) string { return shell(append([]string{"xdsctl"}, args...)...) }

// addr returns the address for the commands.
func (s *site) addr() string {
	if s.config.CSDS == "" {
		return "ADDR"
	}
	return s.config.CSDS
}

// ofClient returns a command for the client of a scope. A name from a control plane cannot be a flag.
func (s *site) ofClient(command, scope string, args ...string) string {
	list := []string{command, "--conn", s.addr()}
	if scope != "" {
		list = append(list, "--scope", scope)
	}
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") }) {
		list = append(list, "--")
	}
	return s.xdsctl(append(list, args...)...)
}

// statusCommand returns the command for a list of resources.
func (s *site) statusCommand(f inspect.ResourceFilter) string {
	args := []string{"status"}
	if parts := strings.SplitN(f.Client, ".", 3); len(parts) == 3 && parts[2] != "" {
		args = append(args, "--scope", parts[2])
	}
	if f.Type != "" {
		args = append(args, "--type", f.Type)
	}
	return s.xdsctl(append(args, s.addr())...)
}

// routeCommand returns the command for a call.
func (s *site) routeCommand(target string, call inspect.Call) string {
	args := []string{"route", "--conn", s.addr(), "--target", target, "--method", call.Method}
	names := make([]string, 0, len(call.Headers))
	for name := range call.Headers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range call.Headers[name] {
			args = append(args, "-H", name+":"+value)
		}
	}
	return s.xdsctl(args...)
}

// curl returns the command that gets the page as JSON.
func curl(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	uri := r.RequestURI // with the prefix of the handler
	if uri == "" || uri[0] != '/' {
		uri = r.URL.RequestURI()
	}
	return shell("curl", "-H", "Accept: application/json", scheme+"://"+r.Host+uri)
}

// shell joins arguments to a command line. Text from control planes cannot end an argument, and its
// control characters are visible.
func shell(args ...string) string {
	out := make([]string, 0, len(args))
	for _, a := range args {
		out = append(out, shellQuoted(a))
	}
	return strings.Join(out, " ")
}

func shellQuoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+") == "" {
		return s
	}
	if printable.Text(s, len(s)) == s {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	quoted := strconv.QuoteToASCII(s) // $'…' knows its escapes
	return "$'" + strings.ReplaceAll(quoted[1:len(quoted)-1], "'", `\'`) + "'"
}
