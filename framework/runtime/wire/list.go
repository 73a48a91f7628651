package wire

import (
	"iter"
	"reflect"
	"slices"
)

// Element adds an element to a list and returns it for filling. The first call makes room for all
// further elements of the field. U is the type of the value that the decoder makes of each element.
// An element costs the larger of the sizes of T and U.
func Element[U, T any](list *[]T, r *Reader) *T {
	if len(*list) == cap(*list) {
		room[U](list, r, (*block[T]).slice)
	}
	return Add(list)
}

// Scratch is [Element] for a list of views that nobody keeps or points into after the resource is
// decoded. Its memory is reused for the next resource.
func Scratch[U, T any](list *[]T, r *Reader) *T {
	if len(*list) == cap(*list) {
		room[U](list, r, (*block[T]).again)
	}
	return Add(list)
}

// Append adds a scalar to a list.
func Append[T any](list []T, x T, r *Reader) []T {
	if len(list) == cap(list) && !r.spend(cap(list)+1, sizeOf[T]()) {
		return list
	}
	return append(list, x)
}

// room makes room for the field's values, if the budget allows it. For the first value it uses the
// arena, for another occurrence of the field it grows the list. If the budget denies it, the reader
// fails, and there is room for at most one element.
func room[U, T any](list *[]T, r *Reader, of func(b *block[T], n, want int) []T) {
	n := r.Count()
	if !r.spend(n, max(sizeOf[T](), sizeOf[U]())) {
		return
	}
	switch {
	case *list != nil:
		*list = slices.Grow(*list, n) // the new elements are zero
	case r.arena == nil:
		*list = make([]T, 0, n)
	default:
		b := blockOf[T](r.arena)
		*list = of(b, n, b.wanted(r.arena, n))
	}
}

// spend spends the budget for the next n elements, or fails.
func (r *Reader) spend(n, size int) bool {
	return r.budget == nil || r.budget.elements(n, size, r.at) || r.fail()
}

// Add adds a zero element to a list and returns it for filling. Beyond its length, the list must be
// zero.
func Add[T any](list *[]T) *T {
	n := len(*list)
	if n < cap(*list) {
		*list = (*list)[:n+1]
	} else { // the budget denied room, or nobody asked for it
		var none T
		*list = append(*list, none)
	}
	return &(*list)[n]
}

// Each yields the elements of a list, in place.
func Each[T any](list []T) iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for i := range list {
			if !yield(i, &list[i]) {
				return
			}
		}
	}
}

// Pointers returns pointers to the elements of a list, as messages have them, for a hook.
func Pointers[T any](list []T) []*T {
	return Messages(list, func(x *T) *T { return x })
}

// Messages returns the messages of a list of views, for a hook.
func Messages[T, M any](list []T, message func(*T) M) []M {
	if list == nil {
		return nil
	}
	out := make([]M, len(list))
	for i := range list {
		out[i] = message(&list[i])
	}
	return out
}

// MessageMap returns a map with the messages of its views, for a hook.
func MessageMap[K comparable, T, M any](views map[K]*T, message func(*T) M) map[K]M {
	if views == nil {
		return nil
	}
	out := make(map[K]M, len(views))
	for k, x := range views {
		out[k] = message(x)
	}
	return out
}

// Entry stores a map entry and returns the map. The first call allocates the map.
func Entry[K comparable, V any](m map[K]V, key K, value V, r *Reader) map[K]V {
	if !r.spend(1, made*(entryCost+pointed[V]())) {
		return m
	}
	if m == nil {
		m = make(map[K]V)
	}
	m[key] = value
	return m
}

// pointed returns the size of the values that a map's values point to.
func pointed[V any]() int {
	if t := reflect.TypeFor[V](); t.Kind() == reflect.Pointer {
		return int(t.Elem().Size())
	}
	return sizeOf[V]()
}
