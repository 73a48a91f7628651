package lkg

import (
	"bufio"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

var crashes = flag.Int("lkg.crashes", 4, "number of processes that TestCrash kills")

const (
	crashDir       = "LKG_CRASH_DIR"
	crashResources = 200
	crashBody      = 100 // bytes more in each further resource: a generation has 4 MB
)

// runCrashChild writes generations until the process is killed, if the environment asks for that. It
// prints the revision of each acknowledged generation. All resources of a generation have its revision.
func runCrashChild() bool {
	dir := os.Getenv(crashDir)
	if dir == "" {
		return false
	}
	s, err := Open(Options{Dir: dir, Quiet: time.Nanosecond, MaxDelay: time.Nanosecond}, thisNode)
	if err != nil || s.readOnly != nil {
		fmt.Println("error", err, s)
		return true
	}
	revision, _ := strconv.Atoi(s.body("0"))
	w := s.Writer(oldStyle)
	for {
		revision++
		w.SetState(true, false) // nothing is written in between
		for i := range crashResources {
			w.Apply([]Change{put(strconv.Itoa(i), strconv.Itoa(revision)+strings.Repeat(" ", crashBody*i))})
		}
		before := s.Status().Authorities[0].Writes
		w.SetState(true, true)
		for s.Status().Authorities[0].Writes == before {
			pass(100 * time.Microsecond)
		}
		fmt.Println(revision)
	}
}

// TestCrash kills processes that write. The newest generation is intact afterwards, all of its resources
// are of one revision, and no acknowledged revision is lost.
func TestCrash(t *testing.T) {
	dir := safeDir(t)
	last, generations, swept := 0, 0, 0
	for n := range *crashes {
		acknowledged := crash(t, dir)
		swept += temporary(t, listing(t, dir), -1)
		var log lockedLog
		s := openStore(t, Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if log.String() != "" {
			t.Errorf("crash %d: %s", n, log.String())
		}
		if s.readOnly != nil {
			t.Fatalf("crash %d: the lock of a killed process is left: %v", n, s.readOnly)
		}
		first := strings.TrimSpace(s.body("0"))
		revision, err := strconv.Atoi(first)
		if acknowledged > 0 && (err != nil || revision < acknowledged) {
			t.Fatalf("crash %d: revision %q, want at least %d", n, first, acknowledged)
		}
		for i := range crashResources {
			if got := strings.TrimSpace(s.body(strconv.Itoa(i))); err == nil && got != first {
				t.Fatalf("crash %d: resource %d has revision %q, and resource 0 has %q", n, i, got, first)
			}
		}
		temporary(t, s.dir.List(), 0)
		generations += revision - last
		last = revision
		must(t, s.Close())
	}
	t.Logf("%d processes killed, %d generations written, %d temporary files swept, no acknowledged generation lost", *crashes, generations, swept)
	if generations == 0 {
		t.Error("no generation was written")
	}
}

func listing(t *testing.T, path string) []string {
	t.Helper()
	d, err := openDirectory(path)
	must(t, err)
	defer func() { must(t, d.Close()) }()
	return d.List()
}

// crash starts a process that writes, kills it at a random moment after its first generation, and returns
// the last revision that it acknowledged.
func crash(t *testing.T, dir string) (acknowledged int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if acknowledged, err = strconv.Atoi(lines.Text()); err != nil {
			t.Errorf("the process printed %q", lines.Text())
			break
		}
		killSoon(cmd)
	}
	_ = cmd.Wait() // it was killed
	return acknowledged
}

// killSoon kills the process within 20 ms, in one of five calls.
func killSoon(cmd *exec.Cmd) {
	if rand.IntN(5) == 0 {
		time.AfterFunc(time.Duration(rand.Int64N(int64(20*time.Millisecond))), func() { _ = cmd.Process.Kill() })
	}
}
