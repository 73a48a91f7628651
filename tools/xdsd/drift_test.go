package xdsd

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/internal/printable"
)

// A daemon that does not send digests is reported with the reason. Its response is bounded, and it cannot send the
// daemon elsewhere.
func TestDigestsOfOthers(t *testing.T) {
	elsewhere := false
	mux := http.NewServeMux()
	mux.HandleFunc("/refused", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "host = a; use -http-hosts"+strings.Repeat("x", 2*maxReason), http.StatusMisdirectedRequest)
	})
	mux.HandleFunc("/forged", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "x\nxdsd: all is well\x1b[2J", http.StatusInternalServerError)
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("[" + strings.Repeat(" ", maxDigests) + "]")) // the daemon may be gone
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) })
	mux.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) { elsewhere = true })
	mux.HandleFunc("/digests", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `[{"revision": 7}]`) })
	peer := httptest.NewServer(mux)
	defer peer.Close()
	var out bytes.Buffer
	d := newDrift(&app{stdout: &out, stderr: &out}, nil)
	defer d.client.CloseIdleConnections()
	for path, want := range map[string]string{
		"/refused": "421 Misdirected Request: host = a; use -http-hosts", "/forged": `x\nxdsd: all is well\x1b[2J`, "/large": "more than 16777216 bytes", "/moved": "302 Found", "/digests": "",
	} {
		list, err := d.fetch(t.Context(), peer.URL+path)
		if want == "" && (err != nil || len(list) != 1 || list[0].Revision != 7) {
			t.Errorf("%s: %+v, %v; want the digest of revision 7", path, list, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 2*maxReason) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if elsewhere {
		t.Error("the daemon follows a redirect")
	}
}

// A daemon is reported once when it stops to answer, and once when it answers again. So are alarms.
func TestMessagesOfTheComparison(t *testing.T) {
	var out bytes.Buffer
	d := newDrift(&app{stdout: &out, stderr: &out}, nil)
	for _, err := range []error{nil, io.EOF, io.EOF, nil, nil} {
		d.answered("http://b", err)
	}
	for _, text := range []string{"", "drift: x", "drift: x", "drift: y", "", ""} {
		d.set("b", text)
		if want := text != ""; want != (len(d.list()) == 1) {
			t.Errorf("alarms after %q = %q", text, d.list())
		}
	}
	want := "xdsd: resources are not compared with those of http://b: EOF\nxdsd: resources are compared with those of http://b again\n" +
		"xdsd: drift: x\nxdsd: drift: y\nxdsd: the end of: drift: y\n"
	if out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

// An alarm names the types whose sums differ or that only one daemon has, and not all of many.
func TestDifferingTypes(t *testing.T) {
	got := differing(map[string]uint64{"same": 1, "other": 1, "ours": 1}, map[string]uint64{"same": 1, "other": 2, "theirs": 1})
	if fmt.Sprint(got) != "[other ours theirs]" {
		t.Errorf("types = %q", got)
	}
	forged := "a\nxdsd: all is well\x1b[2J" + strings.Repeat("x", 1<<20)
	if got := differing(nil, map[string]uint64{forged: 1}); len(got) != 1 || strings.ContainsAny(got[0], "\n\x1b") || len(got[0]) > 2*printable.Short {
		t.Errorf("a forged type = %.1000q; want it escaped and clipped", got)
	}
	many := make(map[string]uint64)
	for i := range maxTypes + 5 {
		many[fmt.Sprintf("t%02d", i)] = 1
	}
	if got := differing(many, nil); len(got) != maxTypes+1 || got[0] != "t00" || got[maxTypes] != "and 5 more types" {
		t.Errorf("many types = %q", got)
	}
}

// A file of permissions that is misspelled, not a list or too large is an error.
func TestBadPermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "permissions.json")
	entry := `{"clients": ["verified"], "types": ["*"], "authorities": ["*"]}`
	for _, x := range []struct{ content, want string }{
		{"[" + entry + "]", ""},
		{`[{"client": ["anyone"]}]`, `unknown field "client"`},
		{"[" + entry + "] []", "one list"},
		{"[" + entry + "] ] garbage", "one list"},
		{"null", "must be a list"},
		{"{}", "cannot unmarshal object"},
		{strings.Repeat(" ", maxPermissions) + "[]", "more than 16777216 bytes"},
	} {
		if err := os.WriteFile(path, []byte(x.content), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := readPermissions(path)
		if x.want == "" && (err != nil || len(list) != 1 || list[0].Clients[0] != "verified") || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%.40q: %+v, %v; want %q", x.content, list, err, x.want)
		}
	}
}

// The URLs of other daemons have nothing that logs must not show.
func TestPeers(t *testing.T) {
	for _, tt := range []struct{ peer, want string }{
		{"http://other:8080/", ""},
		{"other:8080", "must be the http:// URLs"},
		{"http://ann:secret@other:8080", `"http://ann:xxxxx@other:8080"; must have no user`},
		{"http://other:8080/?all", "must have no user"},
		{"http://other:8080/#all", "must have no user"},
	} {
		urls, err := parsePeers([]string{tt.peer})
		if tt.want == "" && (err != nil || !slices.Equal(urls, []string{"http://other:8080/digests"})) {
			t.Errorf("parsePeers(%q) = %q, %v; want the URL of the digests", tt.peer, urls, err)
		}
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("parsePeers(%q): %v; want %q without the password", tt.peer, err, tt.want)
		}
	}
}
