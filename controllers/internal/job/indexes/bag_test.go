package indexes

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestBagAgreesWithSets compares bags with the indexes that were added to them, and Free with
// Missing of the union.
func TestBagAgreesWithSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := rapid.IntRange(0, 200)
		limit := rapid.IntRange(1, 200).Draw(t, "limit")
		settled := Set(nil).With(rapid.SliceOf(rapid.IntRange(0, limit-1)).Draw(t, "settled"))
		var bags [2]Bag
		var added [2][]int
		for range rapid.IntRange(0, 60).Draw(t, "changes") {
			k := rapid.IntRange(0, 1).Draw(t, "bag")
			if len(added[k]) > 0 && rapid.Bool().Draw(t, "remove") {
				at := rapid.IntRange(0, len(added[k])-1).Draw(t, "at")
				bags[k].Remove(added[k][at])
				added[k] = slices.Delete(added[k], at, at+1)
				continue
			}
			i := drawn.Draw(t, "index")
			bags[k].Add(i)
			added[k] = append(added[k], i)
		}
		taken := settled
		for k := range bags {
			has := Set(nil).With(slices.Clone(added[k]))
			if got, want := bags[k].Surplus(), len(added[k])-has.Total(); got != want {
				t.Fatalf("Surplus() = %d, want %d", got, want)
			}
			for i := range 201 {
				if bags[k].Has(i) != has.Has(i) {
					t.Fatalf("Has(%d) = %v", i, bags[k].Has(i))
				}
			}
			taken = taken.Union(has)
		}
		n := rapid.IntRange(0, 20).Draw(t, "n")
		if got, want := settled.Free(n, limit, &bags[0], &bags[1]), taken.Missing(n, limit); !slices.Equal(got, want) {
			t.Fatalf("Free() = %v, want %v", got, want)
		}
	})
}
