package clock_test

import (
	"regexp"
	"testing"

	"minikcm.dev/minikcm/clock"
)

func TestRandomFollowsItsSeed(t *testing.T) {
	draw := func(seed uint64) []any {
		r := clock.NewRandom(seed)
		all := []any{r.IntN(1000), r.Float64(), r.Uint64(), r.Suffix(5), r.UID()}
		fork := r.Fork()
		return append(all, fork.UID(), r.Suffix(10))
	}
	first, again, other := draw(1), draw(1), draw(2)
	for i := range first {
		if first[i] != again[i] {
			t.Errorf("draw %d with one seed: %v and %v", i, first[i], again[i])
		}
		if first[i] == other[i] {
			t.Errorf("draw %d with two seeds: %v both times", i, first[i])
		}
	}
	if a, b := clock.NewSeed(), clock.NewSeed(); a == b {
		t.Error("two new seeds are the same")
	}
}

func TestRandomForms(t *testing.T) {
	r := clock.NewRandom(7)
	uid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	suffix := regexp.MustCompile(`^[bcdfghjklmnpqrstvwxz2456789]{5}$`)
	for range 1000 {
		if got := string(r.UID()); !uid.MatchString(got) {
			t.Fatalf("%q is not a version 4 UUID", got)
		}
		if got := r.Suffix(5); !suffix.MatchString(got) {
			t.Fatalf("%q is not a suffix of a generated name", got)
		}
		if got := r.IntN(3); got < 0 || got > 2 {
			t.Fatalf("IntN(3) is %d", got)
		}
		if got := r.Float64(); got < 0 || got >= 1 {
			t.Fatalf("Float64 is %v", got)
		}
	}
	if r.Suffix(0) != "" {
		t.Error("a suffix of no length is not empty")
	}
}

func TestKeyedIgnoresWhatWasDrawn(t *testing.T) {
	a, b := clock.NewRandom(1), clock.NewRandom(1)
	b.Uint64()
	if x, y := a.Keyed("k").Uint64(), b.Keyed("k").Uint64(); x != y {
		t.Errorf("one seed and key gave %d and %d", x, y)
	}
	if x, y := a.Keyed("k").Uint64(), a.Keyed("l").Uint64(); x == y {
		t.Error("two keys gave the same")
	}
	if x, y := a.Keyed("k").Uint64(), clock.NewRandom(2).Keyed("k").Uint64(); x == y {
		t.Error("two seeds gave the same")
	}
}
