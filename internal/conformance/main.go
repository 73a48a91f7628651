package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The exit codes.
const (
	exitOK       = 0
	exitDisagree = 1
	exitBroken   = 2 // arguments, the corpus or the table
)

// runner judges the rows of one file of the corpus.
type runner struct {
	file  string
	judge func(row []byte) (verdict, error)
}

// judge returns the judge of rows of type R. f notes differences in the verdict; an error
// means that the row is broken.
func judge[R any](f func(v *verdict, row R) error) func([]byte) (verdict, error) {
	return func(line []byte) (v verdict, err error) {
		var row R
		if err = json.Unmarshal(line, &row); err == nil {
			err = f(&v, row)
		}
		return v, err
	}
}

func runners() []runner {
	return []runner{
		{"xdstp_names.jsonl", judge(judgeName)},
		{"resource_templates.jsonl", judge(judgeTemplate)},
		{"bootstrap.jsonl", judge(judgeBootstrap)},
		{"lds.jsonl", judge(judgeResource)},
		{"filter_chain.jsonl", judge(judgeResource)},
		{"filter_chain_lookup.jsonl", judge(judgeLookup)},
		{"rds.jsonl", judge(judgeResource)},
		{"cds.jsonl", judge(judgeResource)},
		{"eds.jsonl", judge(judgeResource)},
		{"lb_policy.jsonl", judge(judgePolicy)},
		{"tls_context.jsonl", judge(judgeTLS)},
		{"http_filter_config.jsonl", judge(judgeFilter)},
	}
}

// mutators are the files whose resources are mutated.
func mutators(n int) []runner {
	files := []string{"lds", "filter_chain", "filter_chain_lookup", "rds", "cds", "eds"}
	out := make([]runner, 0, len(files))
	for _, file := range files {
		out = append(out, runner{file + ".jsonl", judge(judgeMutations(n))})
	}
	return out
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.SetOutput(stderr)
	corpus := flags.String("corpus", "", "the `folder` of the corpus")
	table := flags.String("table", "docs/conformance.md", "the `file` with the table of disagreements")
	mutations := flags.Int("mutations", 0, "decode so `many` mutations of each valid resource, which must neither panic nor hang, instead of comparing verdicts")
	if err := flags.Parse(args); err != nil {
		return exitBroken
	}
	if *corpus == "" {
		fmt.Fprintln(stdout, "conformance: no corpus (-corpus DIR): nothing to compare")
		return exitOK
	}
	if _, err := os.Stat(*corpus); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(stdout, "conformance: folder %s does not exist: nothing to compare\n", *corpus)
		return exitOK
	}
	known, err := readTable(*table)
	if err != nil {
		fmt.Fprintf(stderr, "conformance: %v\n", err)
		return exitBroken
	}
	tests := runners()
	if *mutations > 0 {
		tests, known = mutators(*mutations), nil
	}
	wrong := 0
	for _, r := range tests {
		result, err := runFile(r, filepath.Join(*corpus, r.file))
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(stdout, "%s: not in this corpus\n", r.file)
			continue
		}
		if err != nil {
			fmt.Fprintf(stderr, "conformance: %v\n", err)
			return exitBroken
		}
		wrong += result.print(stdout, known)
	}
	if wrong > 0 {
		fmt.Fprintf(stdout, "FAIL: %d rows differ from %s\n", wrong, *table)
		return exitDisagree
	}
	return exitOK
}
