package xdsd

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/serve"
)

// A limitsFlag is the flag "-limit NAME=VALUE", which may be repeated. Its names are those in the errors of clients.
type limitsFlag struct {
	limits serve.Limits
	given  map[string]bool
}

// numbers returns the limits that are numbers, by name.
func (f *limitsFlag) numbers() map[string]*int {
	l := &f.limits
	return map[string]*int{
		"Streams": &l.Streams, "ClientStreams": &l.ClientStreams,
		"RequestBytes": &l.RequestBytes, "Requests": &l.Requests, "Bytes": &l.Bytes,
		"Types": &l.Types, "Names": &l.Names, "Collections": &l.Collections, "NameBytes": &l.NameBytes, "TotalBytes": &l.TotalBytes,
		"InitialVersions": &l.InitialVersions, "InitialBytes": &l.InitialBytes,
		"ClientNames": &l.ClientNames, "ClientBytes": &l.ClientBytes, "ResponseBytes": &l.ResponseBytes,
		"LoadClusters": &l.LoadClusters, "LoadElements": &l.LoadElements, "NodeBytes": &l.NodeBytes, "IPv6Prefix": &l.IPv6Prefix,
	}
}

// times returns the limits that are times, by name.
func (f *limitsFlag) times() map[string]*time.Duration {
	return map[string]*time.Duration{"FirstRequest": &f.limits.FirstRequest}
}

func (f *limitsFlag) names() []string {
	return slices.Sorted(func(yield func(string) bool) {
		maps.Keys(f.numbers())(yield)
		maps.Keys(f.times())(yield)
	})
}

// String implements [flag.Value].
func (*limitsFlag) String() string { return "" }

// Set implements [flag.Value].
func (f *limitsFlag) Set(s string) error {
	name, value, _ := strings.Cut(s, "=")
	number, isNumber := f.numbers()[name]
	duration, isTime := f.times()[name]
	switch {
	case !isNumber && !isTime:
		return fmt.Errorf("the limit %q does not exist; must be NAME=VALUE with one of the names %s", name, strings.Join(f.names(), ", "))
	case f.given[name]:
		return fmt.Errorf("%s is given twice; must be given once", name)
	}
	if f.given == nil {
		f.given = make(map[string]bool)
	}
	f.given[name] = true
	var err error
	if isTime {
		if *duration, err = time.ParseDuration(value); err != nil || *duration <= 0 {
			return fmt.Errorf("%s = %q; must be a time above 0, such as 30s", name, value)
		}
		return nil
	}
	if *number, err = parseNumber(value); err != nil || *number <= 0 {
		return fmt.Errorf("%s = %q; must be a number above 0, such as 20000 or 64MiB", name, value)
	}
	return nil
}

// parseNumber returns a number with an optional unit.
func parseNumber(s string) (int, error) {
	for unit, factor := range map[string]int{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if digits, ok := strings.CutSuffix(s, unit); ok {
			n, err := strconv.Atoi(digits)
			if err == nil && n > maxNumber/factor {
				err = strconv.ErrRange
			}
			return n * factor, err
		}
	}
	n, err := strconv.Atoi(s)
	if err == nil && n > maxNumber {
		err = strconv.ErrRange
	}
	return n, err
}

// maxNumber is the greatest limit.
const maxNumber = 1 << 40

// server returns the options of the gRPC server, which has a limit of requests, too.
func (f *limitsFlag) server() (options []grpc.ServerOption) {
	if n := f.limits.RequestBytes; n > 0 {
		options = append(options, grpc.MaxRecvMsgSize(n))
	}
	return options
}
