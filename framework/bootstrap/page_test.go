package bootstrap_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/feature"
)

func page(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/bootstrap.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The page about the file has every field that the parser reads, and every feature.
func TestPageHasEveryField(t *testing.T) {
	text := page(t)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	read := regexp.MustCompile(`\b(?:field|items|entries|stringValue|raw|decodeCreds|decodeDuration|decodeInteger)\((?:o, )?"([a-z_]+)"\)`)
	count := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range read.FindAllStringSubmatch(string(source), -1) {
			count++
			if !strings.Contains(text, "`"+m[1]+"`") {
				t.Errorf("docs/bootstrap.md does not describe the field %s, which %s reads", m[1], name)
			}
		}
	}
	if count < 15 {
		t.Errorf("found %d fields in the parser; want at least 15", count)
	}
	for _, name := range []string{
		feature.XDSV3, feature.IgnoreResourceDeletion, feature.TrustedXDSServer, feature.FailOnDataErrors, feature.ResourceTimerIsTransientError,
		feature.ResourceTimerIsTransientFailure, feature.TransportDelta, feature.TransportAuto,
	} {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/bootstrap.md does not describe the feature %s", name)
		}
	}
}

// The example of the page is a valid file, and its table of targets is right.
func TestPageExample(t *testing.T) {
	text := page(t)
	_, block, _ := strings.Cut(text, "```json\n")
	block, _, _ = strings.Cut(block, "```")
	config, err := bootstrap.Parse([]byte(block))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "a:1", "channel_creds": [{"type": "insecure"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `(xds:[^`]*)` \\| ([^|]*) \\| `([^`]*)` \\|$").FindAllStringSubmatch(text, -1)
	if len(rows) < 4 {
		t.Fatalf("%d rows of targets, want 4", len(rows))
	}
	for _, row := range rows {
		c := config
		if strings.Contains(row[2], "the default `%s`") {
			c = plain
		}
		if got, err := c.ClientListenerName(row[1]); err != nil || got.String() != row[3] {
			t.Errorf("the Listener of %s is %s, %v; the page says %s", row[1], got, err, row[3])
		}
	}
}
