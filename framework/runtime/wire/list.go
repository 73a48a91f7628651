package wire

import (
	"iter"
	"reflect"
	"slices"
)

// Element adds an element to a list and returns it, to be filled. The first makes
// room for all that the field has from here on.
func Element[T any](list *[]T, r *Reader) *T {
	if len(*list) == cap(*list) {
		room(list, r, (*block[T]).slice)
	}
	return Add(list)
}

// Scratch is [Element] of a list of views that nobody keeps or points into when the
// resource is decoded: its room is used again for the next one.
func Scratch[T any](list *[]T, r *Reader) *T {
	if len(*list) == cap(*list) {
		room(list, r, (*block[T]).again)
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

// room makes room for the field's values, if the budget has it: for the first in the
// arena, and for another occurrence of the field by growing the list. Where the budget
// denies it, the reader fails, and there is room for no more than one element.
func room[T any](list *[]T, r *Reader, of func(b *block[T], n, want int) []T) {
	n := r.Count()
	if !r.spend(n, sizeOf[T]()) {
		return
	}
	switch {
	case *list != nil:
		*list = slices.Grow(*list, n) // which is zero
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

// Add adds an element that is zero to a list and returns it, to be filled. Beyond its
// length, the list must be zero.
func Add[T any](list *[]T) *T {
	n := len(*list)
	if n < cap(*list) {
		*list = (*list)[:n+1]
	} else { // there was no room to be had, or nobody asked for it
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

// Pointers are the elements of a list as messages have them, for a hook.
func Pointers[T any](list []T) []*T {
	return Messages(list, func(x *T) *T { return x })
}

// Messages are the messages of a list of views, for a hook.
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

// MessageMap is a map with the messages of its views, for a hook.
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

// Entry stores an entry of a map, which it makes for the first, and returns the map.
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

// pointed is the size of the values that a map's values point to.
func pointed[V any]() int {
	if t := reflect.TypeFor[V](); t.Kind() == reflect.Pointer {
		return int(t.Elem().Size())
	}
	return sizeOf[V]()
}
