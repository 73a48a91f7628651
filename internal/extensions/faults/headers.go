package faults

import "strconv"

// Number returns the first value of a header that is a number. It ignores other values (A33).
func Number(values []string) (uint32, bool) {
	for _, v := range values {
		if n, err := strconv.ParseUint(v, 10, 32); err == nil {
			return uint32(n), true
		}
	}
	return 0, false
}

// Lower returns the share of calls, in a million, that the values of a header ask for. The unit is the number of calls per
// million that correspond to one. The share of the configuration is the upper limit.
func Lower(values []string, unit, share uint32) uint32 {
	n, ok := Number(values)
	if !ok {
		return share
	}
	return uint32(min(uint64(n)*uint64(unit), uint64(share))) //nolint:gosec // it is at most share
}
