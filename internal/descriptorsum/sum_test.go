package descriptorsum

import "testing"

func TestOf(t *testing.T) {
	sum := Of(2, []byte("version: v1\n"))
	if got := Of(2, []byte("version: v1\r\n")); got != sum {
		t.Errorf("with other line ends: %s; want %s", got, sum)
	}
	if got := Of(2, []byte("version: v2\n")); got == sum || len(got) != 16 {
		t.Errorf("another descriptor: %s; must be another sum of 16 digits", got)
	}
	if got := Of(3, []byte("version: v1\n")); got == sum {
		t.Errorf("another contract: %s; must be another sum", got)
	}
}
