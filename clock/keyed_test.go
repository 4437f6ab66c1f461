package clock_test

import (
	"sync"
	"testing"

	"minikcm.dev/minikcm/clock"
)

func TestKeyedDependsOnTheKeyAndNotOnTheOrder(t *testing.T) {
	forward, backward := clock.NewKeyed(7), clock.NewKeyed(7)
	a, b := forward.For("pods", "a").UID(), forward.For("pods", "b").UID()
	if got := backward.For("pods", "b").UID(); got != b {
		t.Errorf("asked first, b is %s, but %s when asked second", got, b)
	}
	if got := backward.For("pods", "a").UID(); got != a {
		t.Errorf("asked second, a is %s, but %s when asked first", got, a)
	}
	if again := forward.For("pods", "a").UID(); again == a {
		t.Errorf("the second UID for a is its first: %s", again)
	}
	if other := clock.NewKeyed(8).For("pods", "a").UID(); other == a {
		t.Errorf("seeds 7 and 8 give the same UID %s", other)
	}
	if clock.NewKeyed(1).For("ab", "c").UID() == clock.NewKeyed(1).For("a", "bc").UID() {
		t.Error("keys of different parts give the same UID")
	}
}

func TestKeyedConcurrently(t *testing.T) {
	draw := func() map[string]bool {
		k, names := clock.NewKeyed(1), map[string]bool{}
		var mu sync.Mutex
		var group sync.WaitGroup
		for range 100 {
			group.Go(func() {
				suffix := k.For("web-").Suffix(5)
				mu.Lock()
				defer mu.Unlock()
				names[suffix] = true
			})
		}
		group.Wait()
		return names
	}
	first, second := draw(), draw()
	if len(first) != 100 {
		t.Errorf("100 draws gave %d names", len(first))
	}
	for name := range first {
		if !second[name] {
			t.Errorf("%s was drawn in the first run only", name)
		}
	}
}
