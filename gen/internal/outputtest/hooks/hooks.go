package hooks

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
)

// Everything is a type of the package's own.
type Everything struct {
	Name string
	Part *testpb.Part
}

// Equal compares the messages as messages.
func (e *Everything) Equal(o *Everything) bool {
	return e.Name == o.Name && proto.Equal(e.Part, o.Part)
}

func upper(_ *resource.DecodeContext, text string) (string, error) {
	if text == "" {
		return "", errors.New("must not be empty")
	}
	return strings.ToUpper(text), nil
}

func spread(_ *resource.DecodeContext, numbers []uint32, color testpb.Color, limits map[string]uint32, part *testpb.Part, colors []testpb.Color) (map[string][]time.Duration, error) {
	if len(limits) > len(numbers) {
		return nil, errors.New("has more limits than numbers")
	}
	out := map[string][]time.Duration{color.String(): nil, part.GetId(): nil}
	for _, c := range colors {
		for _, n := range numbers {
			out[c.String()] = append(out[c.String()], time.Duration(n))
		}
	}
	return out, nil
}

func all(dc *resource.DecodeContext, m *testpb.Thing) (*Everything, error) {
	if m.GetBig() < 0 {
		return nil, errors.New("is less than nothing")
	}
	return &Everything{Name: dc.Name.String(), Part: m.GetPart()}, nil
}

// bytes is given messages as bytes, a text as a text, and lists as lists.
func bytes(_ *resource.DecodeContext, part, inner []byte, text string, parts []*testpb.Part) (string, error) {
	if inner != nil && len(inner) == 0 {
		return "", errors.New("has an inner part that says nothing")
	}
	return fmt.Sprintf("%x %x %s %d", part, inner, text, len(parts)), nil
}

// member tells a message that says nothing from one that is not there.
func member(_ *resource.DecodeContext, chosen []byte) (*string, error) {
	if chosen == nil {
		return nil, nil //nolint:nilnil // no message is no value
	}
	var m testpb.Part
	if err := proto.Unmarshal(chosen, &m); err != nil {
		return nil, err
	}
	return &m.Id, nil
}

// number is given the numbers of the members of oneofs that are set.
func number(_ *resource.DecodeContext, choice, inner int32) (int32, error) {
	if choice == 71 {
		return 0, errors.New("must not be a number")
	}
	return choice + 1000*inner, nil
}

func size(_ *resource.DecodeContext, n uint32) (int, error) {
	if n > 9 {
		return 0, errors.New("is too large")
	}
	return int(n), nil
}

func validateThing(dc *resource.DecodeContext, p resource.Path, m *testpb.Thing, v *resource.Violations) {
	if m.GetName() != dc.Name.String() {
		v.Add(p, nil, "must arrive under its name")
	}
	if m.GetSmall() < 0 {
		v.Add(p.Field("small"), m.GetSmall(), "must not be negative")
	}
}

func validatePart(_ *resource.DecodeContext, p resource.Path, m *testpb.Part, v *resource.Violations) {
	if m.GetGroup() == 0 {
		v.Add(p.Field("group"), m.GetGroup(), "must be in a group")
	}
}

// validateSizes is not called where there is no box.
func validateSizes(_ *resource.DecodeContext, p resource.Path, label string, parts []*testpb.Part, v *resource.Violations) {
	if label == "" && len(parts) == 0 {
		v.Add(p, nil, "must not be empty")
	}
	if len(label) < len(parts) {
		v.Add(p, label, "must be longer than there are parts")
	}
}

// check is called whatever was wrong.
func check(_ *resource.DecodeContext, u *Update, v *resource.Violations) {
	if u.Upper == "" {
		v.Add(resource.Path{}, nil, "was not read")
	}
}

func finish(dc *resource.DecodeContext, u *Update, v *resource.Violations) {
	if u.Upper == "LAST" {
		v.Add(resource.Path{}, nil, "was last")
	}
	u.Upper += " of " + dc.Name.String()
}
