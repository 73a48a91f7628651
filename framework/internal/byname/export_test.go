package byname

// Slots returns the number of slots of a table.
func Slots[T any](t *Table[T]) int { return len(t.slots) }
