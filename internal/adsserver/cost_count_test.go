package adsserver

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Sizes of the requests whose statements are counted: the limit of names, and a quarter of it.
const fewCounted, manyCounted = 25_000, 100_000

// BenchmarkOneRequest handles each request once, in both sizes. TestCostIsCounted runs its parts.
func BenchmarkOneRequest(b *testing.B) {
	for _, c := range costs() {
		for _, n := range []int{fewCounted, manyCounted} {
			b.Run(fmt.Sprint(c.name, "/", n), func(b *testing.B) {
				for b.Loop() {
					c.run(b, n)
				}
			})
		}
	}
}

// TestCostIsCounted counts the statements that a request executes in this package and in slices, where lists are searched
// and sorted. Their number grows at most as the size of the request times its logarithm. Unlike times, counts are equal in
// all runs, whatever else the machine does.
func TestCostIsCounted(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "counting.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-covermode", "count", "-coverpkg", ".,slices", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const rounding = 0.02
	most := manyCounted / fewCounted * math.Log(manyCounted) / math.Log(fewCounted) * (1 + rounding)
	for _, c := range costs() {
		few, many := counted(t, program, c.name, fewCounted), counted(t, program, c.name, manyCounted)
		ratio := many / few
		t.Logf("%-25s %5.1f statements/name, %.2f times as many for four times the names", c.name, many/manyCounted, ratio)
		if few < fewCounted {
			t.Errorf("%s: %.0f statements for %d names are counted; the request was not handled", c.name, few, fewCounted)
		}
		if ratio > most {
			t.Errorf("%s: four times the size executes %.2f times as many statements; must be at most %.2f", c.name, ratio, most)
		}
	}
}

// counted returns the statements that a part of BenchmarkOneRequest executes.
func counted(t *testing.T, program, name string, n int) (sum float64) {
	t.Helper()
	profile := filepath.Join(filepath.Dir(program), "profile")
	pattern := fmt.Sprintf("^BenchmarkOneRequest$/^%s$/^%d$", strings.ReplaceAll(strings.ReplaceAll(name, " ", "_"), "/", "$/^"), n)
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", "1x", "-test.coverprofile", profile)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", pattern, err, out)
	}
	data, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		block := strings.Fields(lines.Text())
		if len(block) != 3 {
			continue // the head
		}
		statements, err1 := strconv.ParseFloat(block[1], 64)
		times, err2 := strconv.ParseFloat(block[2], 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("the profile has the line %q", lines.Text())
		}
		sum += statements * times
	}
	return sum
}
