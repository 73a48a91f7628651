package ads

// An ending is the end of a state-of-the-world wildcard that was subscribed to without
// names. Two requests end it: one names "*", and one has no names. The server ignores both if a
// response crosses them. Then the ACK of that response, which has no names, would mean the
// wildcard again. So the machine sends both requests again, at most maxAnew times.
type ending struct {
	spelled bool // a request named "*", and no response has come since
	anew    int
}

// crossed reports whether a response may have crossed both requests. The list is that of
// the last request. The ACK has it, too; if there are names in it, it ends the wildcard.
func (e *ending) crossed(list []string) bool {
	if !e.spelled {
		return false
	}
	e.spelled = false
	e.anew++
	return len(list) == 0 && e.anew <= maxAnew
}
