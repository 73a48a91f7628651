package etcdtest_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/internal/etcdtest"
)

func TestMain(m *testing.M) {
	if etcdtest.IsChild() {
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
