package ads

import (
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
)

func (m *Machine) written() {
	if m.writing == nil {
		return
	}
	if len(m.writing.asked) > 0 {
		m.emit(Asked{Type: m.writing.typ, Names: m.writing.asked})
	}
	m.writing = nil
}

// askedFor treats collections as requested if a response of their type comes before Written. The
// event may be late, and only one response answers a collection. That response would be missed.
func (m *Machine) askedFor(t *resource.Descriptor) {
	if m.writing == nil || m.writing.typ != t || !slices.ContainsFunc(m.writing.asked, isCollection) {
		return
	}
	var names, collections []string
	for _, name := range m.writing.asked {
		if isCollection(name) {
			collections = append(collections, name)
		} else {
			names = append(names, name)
		}
	}
	m.writing.asked = names
	m.emit(Asked{Type: t, Names: collections})
}
