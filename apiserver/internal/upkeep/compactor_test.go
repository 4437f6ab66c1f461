package upkeep

import (
	"slices"
	"testing"
	"time"
)

// Each compaction is at a revision that is as old as what is kept, and never before.
func TestCompactions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keep Retention
		want []int64 // at each interval, of which each has 100 revisions
	}{
		"the last interval":       {Retention{Interval: 5 * time.Minute}, []int64{0, 100, 200, 300, 400, 500}},
		"as long as the interval": {Retention{Interval: 5 * time.Minute, Duration: 5 * time.Minute}, []int64{0, 100, 200, 300}},
		"longer":                  {Retention{Interval: 5 * time.Minute, Duration: 15 * time.Minute}, []int64{0, 0, 0, 100, 200, 300}},
		"no multiple of it":       {Retention{Interval: 5 * time.Minute, Duration: 12 * time.Minute}, []int64{0, 0, 0, 100, 200}},
		"revisions":               {Retention{Interval: 5 * time.Minute, Revisions: 250}, []int64{0, 0, 50, 150, 250}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompactions(test.keep)
			now, newest := time.Unix(0, 0), int64(0)
			var got []int64
			for range test.want {
				now, newest = now.Add(test.keep.Interval), newest+100
				got = append(got, c.at(now, newest))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if len(c.marks) > int(test.keep.Duration/test.keep.Interval)+2 {
				t.Errorf("%d marks are kept", len(c.marks))
			}
		})
	}
}
