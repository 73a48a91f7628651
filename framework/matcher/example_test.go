package matcher_test

import (
	"fmt"

	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/xdsforge/xdsforge/framework/matcher"
)

func ExampleStringParts_Matcher() {
	m, err := matcher.PartsOfString(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: "Te"}, IgnoreCase: true}).Matcher(nil)
	fmt.Println(m.Match("TEXT"), m.Match("context"), err)
	_, err = matcher.PartsOfString(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{}}).Matcher(nil)
	fmt.Println(err)
	// Output:
	// true false <nil>
	// prefix = ""; must not be empty
}
