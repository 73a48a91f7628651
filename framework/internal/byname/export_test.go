package byname

// Slots returns the number of slots of a table.
func Slots[T any](t *Table[T]) int { return len(t.slots) }

// Kept returns all slots in memory, those beyond the current size too.
func Kept[T any](t *Table[T]) []T { return t.slots[:cap(t.slots)] }
