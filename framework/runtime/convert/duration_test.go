package convert

import (
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"
)

// isDuration agrees with the method CheckValid of the message.
func TestIsDuration(t *testing.T) {
	for _, seconds := range []int64{-1 << 63, -315576000001, -315576000000, -1, 0, 1, 315576000000, 315576000001, 1<<63 - 1} {
		for _, nanos := range []int32{-1 << 31, -1_000_000_000, -999_999_999, -1, 0, 1, 999_999_999, 1_000_000_000, 1<<31 - 1} {
			d := &durationpb.Duration{Seconds: seconds, Nanos: nanos}
			if got, want := isDuration(seconds, nanos), d.CheckValid() == nil; got != want {
				t.Errorf("isDuration(%d, %d) = %t; want %t", seconds, nanos, got, want)
			}
		}
	}
}
