package ads

import "hash/maphash"

// positions finds names in a list. It has the positions alone, in a hash table that uses the next
// slot on a collision: about 8 bytes a name, where a map takes 40. The caller passes the list. Its
// names are distinct. The zero value is ready.
type positions struct {
	seed  maphash.Seed
	slots []uint32 // a position, plus one; 0: the slot is empty
	used  int
}

// minPositions is the number of slots of a small table.
const minPositions = 8

func (p *positions) home(name string) int {
	return int(maphash.String(p.seed, name) & uint64(len(p.slots)-1)) //nolint:gosec // below the length
}

func (p *positions) after(slot int) int { return (slot + 1) & (len(p.slots) - 1) }

// slot returns the slot with the position of a name, or the empty slot for it.
func (p *positions) slot(names []string, name string) int {
	i := p.home(name)
	for p.slots[i] != 0 && names[p.slots[i]-1] != name {
		i = p.after(i)
	}
	return i
}

// find returns the position of a name.
func (p *positions) find(names []string, name string) (position int, ok bool) {
	if p.used == 0 {
		return 0, false
	}
	at := p.slots[p.slot(names, name)]
	return int(at) - 1, at != 0
}

// add adds the last of the names.
func (p *positions) add(names []string) {
	if 4*(p.used+1) > 3*len(p.slots) {
		p.grow(names[:len(names)-1])
	}
	p.used++
	p.slots[p.slot(names, names[len(names)-1])] = uint32(len(names)) //nolint:gosec // memory bounds the names
}

// grow makes a larger table of the names.
func (p *positions) grow(names []string) {
	if p.slots == nil {
		p.seed = maphash.MakeSeed()
	}
	p.slots = make([]uint32, max(minPositions, 2*len(p.slots)))
	for i, name := range names {
		p.slots[p.slot(names, name)] = uint32(i + 1)
	}
}

// replace removes the name at a position. The caller moves the last of the names to that position
// afterwards.
func (p *positions) replace(names []string, position int) {
	p.empty(names, p.slot(names, names[position]))
	p.used--
	if last := len(names) - 1; position < last {
		p.slots[p.slot(names, names[last])] = uint32(position + 1) //nolint:gosec // memory bounds the names
	}
}

// empty empties a slot, and moves later entries that a search would no longer find.
func (p *positions) empty(names []string, hole int) {
	for i := p.after(hole); p.slots[i] != 0; i = p.after(i) {
		home := p.home(names[p.slots[i]-1])
		if mask := len(p.slots) - 1; (i-home)&mask >= (i-hole)&mask { // its search passes the hole
			p.slots[hole], hole = p.slots[i], i
		}
	}
	p.slots[hole] = 0
}
