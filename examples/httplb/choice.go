package main

import (
	"math/rand/v2"
	"sort"
)

// A choice picks items at random, each as often as its weight says.
type choice[T any] struct {
	items []T
	sums  []uint64 // of the weights so far
}

func (c *choice[T]) add(item T, weight uint32) {
	if weight > 0 {
		c.sums = append(c.sums, c.total()+uint64(weight))
		c.items = append(c.items, item)
	}
}

func (c *choice[T]) total() uint64 {
	if len(c.sums) == 0 {
		return 0
	}
	return c.sums[len(c.sums)-1]
}

// pick fails if there is nothing to pick.
func (c *choice[T]) pick() (item T, ok bool) {
	if len(c.items) == 0 {
		return item, false
	}
	n := rand.Uint64N(c.total())
	return c.items[sort.Search(len(c.sums), func(i int) bool { return n < c.sums[i] })], true
}
