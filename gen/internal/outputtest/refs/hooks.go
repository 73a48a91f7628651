package refs

import (
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// named returns a label, unless it has the prefix of labels that name no resource.
func named(_ *resource.DecodeContext, label string) (string, error) { //nolint:unparam // the type of a hook
	if strings.HasPrefix(label, "none:") {
		return "", nil
	}
	return label, nil
}
