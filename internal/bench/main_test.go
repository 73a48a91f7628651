package main

import "testing"

// A line of the table has the ratio, or else the figure itself. It is bold where it misses the bound by
// more than the tolerance.
func TestMarkdown(t *testing.T) {
	for _, tt := range []struct {
		row  Row
		want string
	}{
		{Row{Name: "  each", Unit: "us", Ours: 6, Peer: 5, Beside: "at 10000", Bound: 1.2}, "| each | 6 us | 5 us at 10000 | 1.20 | 1.2 |  |"},
		{Row{Name: "each", Unit: "us", Ours: 7, Peer: 5, Beside: "at 10000", Bound: 1.2, Floor: 3}, "| each | 7 us | 5 us at 10000 | **1.40** | 1.2 | 3 us |"},
		{Row{Name: "each", Unit: "us", Ours: 7, Peer: 5, Beside: "at 10000"}, "| each | 7 us | 5 us at 10000 | 1.40 |  |  |"},
		{Row{Name: "heap", Unit: "B", Ours: 1287, Bound: 1250}, "| heap | 1287 B |  |  | 1250 B |  |"},
		{Row{Name: "heap", Unit: "B", Ours: 1300, Bound: 1250}, "| heap | **1300 B** |  |  | 1250 B |  |"},
	} {
		tt.row.judge()
		if got := tt.row.markdown(); got != tt.want {
			t.Errorf("the line is %q, want %q", got, tt.want)
		}
	}
}
