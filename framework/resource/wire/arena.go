package wire

// The most that an [Arena] makes room for beyond what it is asked for: elements
// need not be alike, and the control plane says how many there are.
const (
	maxStrings = 1 << 10
	maxText    = 1 << 14 // bytes
)

// An Arena makes the small slices and texts of one update in few allocations. The
// zero value is ready. What it made may be kept, and lives as long as any of it
// does.
type Arena struct {
	left    int // how many elements are to come
	strings []string
	text    []byte
}

// Expect says that n like elements come now, each of which asks for strings once:
// the first makes room for all.
func (a *Arena) Expect(n int) { a.left = n }

// Strings is an empty slice with room for n strings; nil where n is 0.
func (a *Arena) Strings(n int) []string {
	if n == 0 {
		return nil
	}
	if n > len(a.strings) {
		a.strings = make([]string, max(n, min(n*a.left, maxStrings)))
	}
	a.left--
	out := a.strings[:0:n]
	a.strings = a.strings[n:]
	return out
}

// Text is a string of the bytes.
func (a *Arena) Text(b []byte) string {
	if cap(a.text)-len(a.text) < len(b) {
		a.text = make([]byte, 0, max(len(b), min(len(b)*(a.left+1), maxText)))
	}
	start := len(a.text)
	a.text = append(a.text, b...)
	return text(a.text[start:])
}
