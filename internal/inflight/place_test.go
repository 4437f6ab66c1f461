package inflight_test

import (
	"slices"
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/inflight"
)

// Work is granted its turns in the order of the places that it had when it joined.
func TestPlacesAreTheOrderOfTurns(t *testing.T) {
	t.Parallel()
	type work struct {
		key   string
		place inflight.Place
	}
	for seed := range uint64(20) {
		l := inflight.NewLedger()
		l.TakeTurns(seed, false)
		before := inflight.Begin(l, inflight.Start)
		line := inflight.NewLine[string](l, inflight.Key, "queue")
		var works []work
		var granted []string
		for _, key := range []string{"a", "b", "c", "d", "e"} {
			works = append(works, work{key, l.PlaceOf("queue", key)})
			line.Join(key, key)
		}
		if got := l.String(); got != "1 starting parts; waiting for their turn: 5 queued keys" {
			t.Errorf("in flight: %s", got)
		}
		before.End()
		later := l.PlaceOf("queue", "0")
		for range works {
			ticket, ok := line.Next(ended())
			if !ok {
				t.Fatalf("seed %d: nothing is granted after %v", seed, granted)
			}
			granted = append(granted, ticket.Value)
			ticket.End()
		}
		slices.SortFunc(works, func(a, b work) int { return a.place.Compare(b.place) })
		var want []string
		for _, w := range works {
			want = append(want, w.key)
			if w.place.Compare(later) >= 0 {
				t.Errorf("seed %d: %s, which joined before a turn, comes after what joined in it", seed, w.key)
			}
		}
		if !slices.Equal(granted, want) {
			t.Errorf("seed %d: turns of %s, places of %s", seed, strings.Join(granted, " "), strings.Join(want, " "))
		}
	}
	if p := inflight.NewLedger().PlaceOf("queue", "a"); p != (inflight.Place{}) {
		t.Errorf("without turns there is a place: %v", p)
	}
}
