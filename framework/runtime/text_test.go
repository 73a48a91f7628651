package runtime

import (
	"strings"
	"testing"
)

// A text is cut after its limit, at the end of a character.
func TestTextIsCut(t *testing.T) {
	most := strings.Repeat("a", maxText)
	for text, want := range map[string]string{
		most:                  most,
		most + "a":            most + "…",
		most[:1] + "é" + most: "aé" + most[:maxText-3] + "…",
		most[1:] + "é":        most[1:] + "…",
	} {
		p := newText()
		p.write(text)
		if got := p.done(); got != want {
			t.Errorf("a text of %d bytes becomes one of %d bytes, want %d", len(text), len(got), len(want))
		}
	}
}
