// Package slice makes a slice from another one, element by element.
package slice

// Map returns f(x) for each element x of a list.
func Map[T, R any](list []T, f func(T) R) []R {
	out := make([]R, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// Filter returns the elements of a list that keep returns true for.
func Filter[T any](list []T, keep func(T) bool) []T {
	var out []T
	for _, x := range list {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// FlatMap returns the elements of f(x) for each element x of a list.
func FlatMap[T, R any](list []T, f func(T) []R) []R {
	out := make([]R, 0, len(list))
	for _, x := range list {
		out = append(out, f(x)...)
	}
	return out
}
