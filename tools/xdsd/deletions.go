package xdsd

import (
	"errors"
	"flag"
	"math"
	"strconv"
)

// A deletionsFlag is the flag -allow-deletions: a number, or "all".
type deletionsFlag int

func (f *deletionsFlag) add(s *flag.FlagSet) {
	s.Var(f, "allow-deletions", "allow this `number` of deletions, or all; without it, a transaction may delete a fifth of the resources, and not the last of a type")
}

// String implements [flag.Value].
func (f *deletionsFlag) String() string { return strconv.Itoa(int(*f)) }

// Set implements [flag.Value].
func (f *deletionsFlag) Set(s string) error {
	if s == "all" {
		*f = math.MaxInt
		return nil
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return errors.New("must be a number or all")
	}
	*f = deletionsFlag(n)
	return nil
}
