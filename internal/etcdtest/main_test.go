package etcdtest_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/internal/etcdtest"
)

func TestMain(m *testing.M) {
	if etcdtest.IsNode() {
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
