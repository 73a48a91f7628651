package wire

import "iter"

// Element adds an element to a list and returns it, to be filled. The first makes
// room for all that the field has from here on.
func Element[T any](list *[]T, r *Reader) *T {
	if *list == nil {
		*list = room[T](r, (*block[T]).slice)
	}
	return Add(list)
}

// Scratch is [Element] of a list of views that nobody keeps or points into when the
// resource is decoded: its room is used again for the next one.
func Scratch[T any](list *[]T, r *Reader) *T {
	if *list == nil {
		*list = room[T](r, (*block[T]).again)
	}
	return Add(list)
}

// room is an empty slice with room for the field's values.
func room[T any](r *Reader, of func(b *block[T], n, want int) []T) []T {
	n := r.Count()
	if r.arena == nil {
		return make([]T, 0, n)
	}
	b := blockOf[T](r.arena)
	return of(b, n, b.wanted(r.arena, n))
}

// Add adds an element that is zero to a list and returns it, to be filled. Beyond its
// length, the list must be zero.
func Add[T any](list *[]T) *T {
	n := len(*list)
	if n < cap(*list) {
		*list = (*list)[:n+1]
	} else { // not the occurrence of a field that room was made for
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
func Entry[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	if m == nil {
		m = make(map[K]V)
	}
	m[key] = value
	return m
}
