package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// slow is how long decoding one resource may take. It is a hang that is looked for.
const slow = 5 * time.Second

// judgeMutations decodes mutations of a valid resource. They may be wrong, and must
// neither panic nor hang.
func judgeMutations(n int) func(*verdict, resourceRow) error {
	return func(v *verdict, row resourceRow) error {
		if !row.WantOK || row.Body == nil || row.Suite == "" {
			v.skip = true // only valid resources are mutated
			return nil
		}
		decode, err := row.decoder()
		if err != nil {
			return err
		}
		rnd := rand.New(rand.NewPCG(uint64(len(row.Body)), 11))
		for range n {
			body := mutate(rnd, row.Body)
			if said := try(decode, body); said != "" {
				v.differences = append(v.differences, fmt.Sprintf("%s: %x", said, body))
				return nil
			}
		}
		return nil
	}
}

// try decodes bytes and says whether that panics or takes long; empty: neither.
func try(decode func([]byte) error, body []byte) (said string) {
	defer func() {
		if p := recover(); p != nil {
			said = fmt.Sprintf("panics: %v", p)
		}
	}()
	start := time.Now()
	_ = decode(body) // that it is wrong is well
	if d := time.Since(start); d > slow {
		return fmt.Sprintf("takes %v", d)
	}
	return ""
}

// mutate changes a few bits, drops or repeats parts, or makes a length or number
// large.
func mutate(rnd *rand.Rand, body []byte) []byte {
	out := append([]byte(nil), body...)
	for range 1 + rnd.IntN(4) {
		if len(out) == 0 {
			return out
		}
		i := rnd.IntN(len(out))
		j := i + rnd.IntN(min(len(out)-i, 16)+1)
		switch rnd.IntN(5) {
		case 0:
			out[i] ^= 1 << rnd.IntN(8)
		case 1:
			out[i] = []byte{0, 1, 0x7f, 0x80, 0xff}[rnd.IntN(5)]
		case 2:
			out = append(out[:i], out[j:]...)
		case 3:
			out = append(out[:j:j], out[i:]...)
		default:
			out = append(out, out[i:j]...)
		}
	}
	return out
}
