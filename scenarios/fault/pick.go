package fault

import (
	"cmp"
	"fmt"
	"slices"

	"minikcm.dev/minikcm/clock"
)

// Share limits how many matching objects are hit; the seed chooses them. The default is one object,
// or all objects if they are named.
type Share struct {
	// Count is the number of matching objects that are hit.
	Count int `yaml:"count,omitempty"`
	// Percent is the percentage of the matching objects that are hit, rounded up.
	Percent int `yaml:"percent,omitempty"`
	// All says that all matching objects are hit.
	All bool `yaml:"all,omitempty"`
	// MaxPercent is the largest percentage of the matching objects that are hit; the seed chooses
	// it.
	MaxPercent int `yaml:"maxPercent,omitempty"`
}

func (s *Share) check(c *checker) {
	given := 0
	for _, set := range []bool{s.Count != 0, s.Percent != 0, s.All, s.MaxPercent != 0} {
		if set {
			given++
		}
	}
	switch {
	case given > 1:
		c.problem("count", "is one of count, percent, maxPercent and all: leave the others out")
	case s.Count < 0:
		c.problem("count", "must not be negative: %d", s.Count)
	case s.Percent < 0 || s.Percent > 100:
		c.problem("percent", "is from 1 to 100: %d", s.Percent)
	case s.MaxPercent < 0 || s.MaxPercent > 100:
		c.problem("maxPercent", "is from 1 to 100: %d", s.MaxPercent)
	}
}

func (s *Share) String() string {
	switch {
	case s.All:
		return "all"
	case s.Percent > 0:
		return fmt.Sprintf("%d%%", s.Percent)
	case s.MaxPercent > 0:
		return fmt.Sprintf("up to %d%%", s.MaxPercent)
	case s.Count > 0:
		return fmt.Sprint(s.Count)
	}
	return "1"
}

// of returns how many of n are hit.
func (s *Share) of(n int) int {
	switch {
	case s.All:
		return n
	case s.Percent > 0:
		return (n*s.Percent + 99) / 100
	case s.Count > 0:
		return s.Count
	}
	return 1
}

// pick chooses among the candidates. It returns errNoMatch if there are too few.
func pick[T any](candidates []T, share *Share, random *clock.Random, what string, name func(T) string) ([]T, error) {
	want := share.of(len(candidates))
	if share.MaxPercent > 0 {
		most := Share{Percent: 1 + random.IntN(share.MaxPercent)}
		want = most.of(len(candidates))
	}
	if len(candidates) == 0 || len(candidates) < want {
		return nil, fmt.Errorf("%w: %s of %s %s to be hit, and there %s %d", errNoMatch, share, what, plural(want, "was", "were"), plural(len(candidates), "is", "are"), len(candidates))
	}
	rest := slices.Clone(candidates)
	slices.SortFunc(rest, func(a, b T) int { return cmp.Compare(name(a), name(b)) })
	if want == len(rest) {
		return rest, nil
	}
	var chosen []T
	for range want {
		i := random.IntN(len(rest))
		chosen = append(chosen, rest[i])
		rest = append(rest[:i:i], rest[i+1:]...)
	}
	return chosen, nil
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
