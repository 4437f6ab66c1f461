package indexes

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestIndexesAsText(t *testing.T) {
	for _, tc := range []struct {
		name        string
		text        string
		completions int
		want        string
		total       int
	}{
		{"none", "", 10, "", 0},
		{"one", "3", 10, "3", 1},
		{"two in a row", "3,4", 10, "3,4", 2},
		{"three in a row", "3-5", 10, "3-5", 3},
		{"the documentation's", "1,3-5,7", 10, "1,3-5,7", 5},
		{"neighbours join", "0,1,2,4-5,6", 10, "0-2,4-6", 6},
		{"a range beyond the completions", "1,3-9", 6, "1,3-5", 4},
		{"indexes beyond the completions", "1,7,8", 6, "1", 1},
		{"nonsense ends it", "1,x,3", 6, "1", 1},
		{"half a range", "1,3-", 6, "1", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Parse(tc.text, tc.completions)
			if got.String() != tc.want || got.Total() != tc.total {
				t.Errorf("%q with %d completions is %q, %d in all; want %q, %d", tc.text, tc.completions, got, got.Total(), tc.want, tc.total)
			}
		})
	}
}

func FuzzIndexesAsText(f *testing.F) {
	for _, text := range []string{"", "1,3-5,7", "0-9", "5-3", "1,1,1", "-1", "9223372036854775807-1"} {
		f.Add(text, 12)
	}
	f.Fuzz(func(t *testing.T, text string, completions int) {
		set := Parse(text, completions)
		if again := Parse(set.String(), completions); !slices.Equal(set, again) {
			t.Errorf("%q is %v, and %v as it reads its own text %q", text, set, again, set)
		}
		for i, v := range set {
			if v.first < 0 || v.last >= completions || v.last < v.first || i > 0 && v.first <= set[i-1].last+1 {
				t.Fatalf("%q is %v, which is no set below %d", text, set, completions)
			}
		}
	})
}

// TestIndexesAreASet compares intervals with a map of integers.
func TestIndexesAreASet(t *testing.T) {
	const limit = 24
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOf(rapid.IntRange(0, limit-1))
		a, b := numbers.Draw(t, "a"), numbers.Draw(t, "b")
		inA, inB := map[int]bool{}, map[int]bool{}
		for _, i := range a {
			inA[i] = true
		}
		for _, i := range b {
			inB[i] = true
		}
		setA, setB := Set(nil).With(slices.Clone(a)), Set(nil).With(slices.Clone(b))
		both, union, missing := 0, setA.Union(setB), []int{}
		if got := setA.With(slices.Clone(b)); !slices.Equal(got, union) {
			t.Fatalf("%v with %v is %v and %v", setA, setB, got, union)
		}
		for i := range limit {
			if setA.Has(i) != inA[i] || union.Has(i) != (inA[i] || inB[i]) {
				t.Fatalf("%d: in %v? in %v?", i, setA, union)
			}
			if inA[i] && inB[i] {
				both++
			}
			if !inA[i] {
				missing = append(missing, i)
			}
		}
		if setA.Total() != len(inA) || setA.Common(setB) != both {
			t.Fatalf("%v has %d, %d of them in %v; want %d, %d", setA, setA.Total(), setA.Common(setB), setB, len(inA), both)
		}
		n := rapid.IntRange(0, limit).Draw(t, "n")
		if diff := cmp.Diff(missing[:min(n, len(missing))], setA.Missing(n, limit)); diff != "" {
			t.Fatalf("the first %d not in %v (-want +got):\n%s", n, setA, diff)
		}
	})
}
