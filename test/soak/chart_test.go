package soak

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// chartWidth is the greatest number of columns of a curve.
const chartWidth = 60

// chart draws the samples of a run: for each measured value a line with a curve, whose columns
// are the maxima of equal parts of the time, and its range.
func chart(samples []sample) string {
	var b strings.Builder
	for _, line := range []struct {
		name  string
		value func(sample) int
	}{
		{"heap, MiB", func(s sample) int { return int(s.heap >> 20) }},
		{"goroutines", func(s sample) int { return s.goroutines }},
		{"open files", func(s sample) int { return s.files }},
	} {
		values := make([]int, len(samples))
		for i, s := range samples {
			values[i] = line.value(s)
		}
		fmt.Fprintf(&b, "%-11s %s  %d to %d, at the end %d\n", line.name, curve(values), slices.Min(values), slices.Max(values), values[len(values)-1])
	}
	return b.String()
}

// curve draws values from zero to their maximum with block characters.
func curve(values []int) string {
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	top := max(slices.Max(values), 1)
	width := min(chartWidth, len(values))
	columns := make([]rune, width)
	for i := range columns {
		part := values[i*len(values)/width : (i+1)*len(values)/width]
		columns[i] = blocks[(slices.Max(part)*(len(blocks)-1)+top-1)/top]
	}
	return string(columns)
}

func TestChart(t *testing.T) {
	var samples []sample
	for hour := range uint64(720) {
		samples = append(samples, sample{goroutines: 1600, files: 16, heap: min(40+hour, 80) << 20})
	}
	const want = `heap, MiB   ▆▇██████████████████████████████████████████████████████████  40 to 80, at the end 80
goroutines  ████████████████████████████████████████████████████████████  1600 to 1600, at the end 1600
open files  ████████████████████████████████████████████████████████████  16 to 16, at the end 16
`
	if got := chart(samples); got != want {
		t.Errorf("chart:\n%swant:\n%s", got, want)
	}
	if got := curve([]int{0, 1, 8}); got != " ▁█" {
		t.Errorf("curve: %q", got)
	}
}
