package resource

import "errors"

// An InputMatcher registers a matcher for the custom_match of unified matchers (gRFC A106). Programs do not write their own:
// the module github.com/xdsforge/xdsforge/cel has the one for CEL.
type InputMatcher struct {
	// Message is the full name of the message that configures the matcher.
	Message string
	// Input is the full name of the message of the input that it compares.
	Input string
	// Parse reads and validates a configuration.
	Parse func(dc *DecodeContext, c TypedConfig) (any, error)
}

func (m *InputMatcher) keys() []extensionKey { return []extensionKey{{pointInputMatcher, m.Message}} }

func (m *InputMatcher) half() Extension { return m }

func (m *InputMatcher) check() error {
	if m == nil || m.Message == "" || m.Input == "" || m.Parse == nil {
		return errors.New("resource: an InputMatcher needs Message, Input and Parse")
	}
	return nil
}

// InputMatcher returns the matcher with this configuration message.
func (s *Set) InputMatcher(message string) (*InputMatcher, bool) {
	return find[*InputMatcher](s, pointInputMatcher, message)
}
