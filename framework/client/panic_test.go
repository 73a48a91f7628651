package client_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A panickyWatcher panics at each notification.
type panickyWatcher struct{ recorder }

func (panickyWatcher) Changed(resource.Update) { panic("a watcher's own mistake") }

// A panic of a watcher ends the program, with a stack that names the watcher. The test
// runs itself again for that.
func TestPanicOfAWatcherEndsTheProgram(t *testing.T) {
	const child = "XDSFORGE_TEST_PANIC_OF_A_WATCHER"
	ctx := testContext(t)
	if os.Getenv(child) != "" {
		s := startServer(t)
		set(t, s, "a", cluster("a", "1"))
		c := newClient(t, oneServer(t, s.Addr()))
		if _, err := c.Subscribe(clusters, "a", delivered(panickyWatcher{})); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		return
	}
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPanicOfAWatcherEndsTheProgram$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || ctx.Err() != nil {
		t.Fatalf("the program did not end by the panic: %v\n%s", err, out)
	}
	for _, want := range []string{"panic: a watcher's own mistake", "panickyWatcher.Changed", "github.com/xdsforge/xdsforge/framework/client.(*callbackPool).work"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}
