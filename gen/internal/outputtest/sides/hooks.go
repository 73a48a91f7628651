package sides

import (
	"errors"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

func side(dc *resource.DecodeContext, id string) (resource.Side, error) {
	if id == "bad" {
		return 0, errors.New("must not be bad")
	}
	return dc.Side(), nil
}

func longest(_ *resource.DecodeContext, parts []Named) (string, error) {
	var out string
	for _, p := range parts {
		if len(p.ID) > len(out) {
			out = p.ID
		}
	}
	if out == "" {
		return "", errors.New("must have a name")
	}
	return out, nil
}

func other(_ *resource.DecodeContext, one *Named, longest string, extension *anypb.Any) (*anypb.Any, error) {
	switch {
	case longest == "none":
		return nil, errors.New("cannot be made")
	case one != nil:
		return nil, nil //nolint:nilnil // it is read
	}
	return extension, nil
}
