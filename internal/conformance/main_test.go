package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write creates a folder with the files and returns its path.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	agrees    = `{"id": "a-1", "input": "xdstp://e/t/i?b=1&a=2", "want_ok": true, "want_name": "xdstp://e/t/i?a=2&b=1"}`
	disagrees = `{"id": "a-2", "input": "xdstp:/e/t/i", "want_ok": true, "want_name": "xdstp:/e/t/i"}`
	notAsked  = `{"id": "b-1", "fragment": "allowed_grpc_services", "input": "{}", "want_ok": true}`
	listed    = "| row | peer | we | sentence |\n|---|---|---|---|\n| `a-2` | yes | no | \"it says so\" |\n"
)

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		why    string
		files  map[string]string
		code   int
		output []string
	}{
		{"all rows agree", map[string]string{"xdstp_names.jsonl": agrees + "\n\n", "table": ""}, exitOK, []string{
			"xdstp_names.jsonl: 1 / 1 agreed\n", "bootstrap.jsonl: not in this corpus\n",
		}},
		{"a row disagrees", map[string]string{"xdstp_names.jsonl": agrees + "\n" + disagrees, "table": ""}, exitDisagree, []string{
			"xdstp_names.jsonl: 1 / 2 agreed\n",
			"  a-2: DISAGREES, and is missing in the table\n    valid: the peer returns true, we return false: xdstp: name = ",
			"FAIL: 1 rows differ from ",
		}},
		{"the table has it", map[string]string{"xdstp_names.jsonl": agrees + "\n" + disagrees, "table": listed}, exitOK, []string{
			"xdstp_names.jsonl: 1 / 2 agreed\n  a-2: disagrees, as in the table\n",
		}},
		{"the table has a row that agrees", map[string]string{"xdstp_names.jsonl": agrees, "table": strings.Replace(listed, "a-2", "a-1", 1)}, exitDisagree, []string{
			"  a-1: AGREES, but is in the table\n",
		}},
		{"a row is not asked for", map[string]string{"bootstrap.jsonl": notAsked, "table": ""}, exitOK, []string{
			"bootstrap.jsonl: 0 / 0 agreed, 1 out of scope\n  b-1: out of scope: allowed_grpc_services is gRFC A102",
		}},
		{"no table", nil, exitBroken, []string{"conformance: open "}},
		{"a cell of the table is empty", map[string]string{"table": "| a-1 | yes | no | |"}, exitBroken, []string{":1: a-1: must have four cells"}},
		{"the table has a row twice", map[string]string{"table": listed + "| a-2 | b | c | d |"}, exitBroken, []string{":4: a-2: must not be listed twice"}},
		{"a row is no JSON", map[string]string{"xdstp_names.jsonl": agrees + "\n{", "table": ""}, exitBroken, []string{"xdstp_names.jsonl:2: "}},
		{"a row has no id", map[string]string{"xdstp_names.jsonl": "{}", "table": ""}, exitBroken, []string{"xdstp_names.jsonl:1: id is missing"}},
		{"a row has the wrong types", map[string]string{"xdstp_names.jsonl": `{"id": "a-1", "input": 7}`, "table": ""}, exitBroken, []string{"xdstp_names.jsonl:1: a-1: json: "}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			dir := write(t, tt.files)
			var out strings.Builder
			code := run([]string{"-corpus", dir, "-table", filepath.Join(dir, "table")}, &out, &out)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, want := range tt.output {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the output does not have %q:\n%s", want, out.String())
				}
			}
		})
	}
}

func TestNothingToCompare(t *testing.T) {
	for want, args := range map[string][]string{
		"no corpus (-corpus DIR): nothing to compare": nil,
		"does not exist: nothing to compare":          {"-corpus", filepath.Join(t.TempDir(), "absent")},
	} {
		var out, errOut strings.Builder
		if code := run(args, &out, &errOut); code != exitOK || !strings.Contains(out.String(), want) || errOut.Len() > 0 {
			t.Errorf("run(%q) = %d: %s%s", args, code, out.String(), errOut.String())
		}
	}
	var out strings.Builder
	if code := run([]string{"-no-such-flag"}, &out, &out); code != exitBroken {
		t.Errorf("an unknown flag: exit code %d", code)
	}
}

// TestTable expects the command to read the table of this repository.
func TestTable(t *testing.T) {
	known, err := readTable(filepath.Join("..", "..", "docs", "conformance.md"))
	if err != nil || !known["xdstp-035"] || !known["bootstrap-049"] {
		t.Errorf("readTable = %v, %v", known, err)
	}
}
