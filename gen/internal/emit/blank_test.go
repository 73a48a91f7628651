package emit

import "testing"

func TestBlank(t *testing.T) {
	const source = `package p

func decode(dc, meta *T, p *T, m *T) {
	m := m.Get(dc.meta)
	use(func(p *T) {}, m)
}

func (u *T) none(u2 T, v int) {}
`
	const want = `package p

func decode(dc, _ *T, p *T, m *T) {
	m := m.Get(dc.meta)
	use(func(p *T) {}, m)
}

func (u *T) none(_ T, _ int) {}
`
	if got, err := blank([]byte(source)); err != nil || string(got) != want {
		t.Errorf("blank() = %v\n%s", err, got)
	}
	if _, err := blank([]byte("no source")); err == nil {
		t.Error("blank() accepted text that is not Go")
	}
}
