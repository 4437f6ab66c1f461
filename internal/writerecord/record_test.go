package writerecord_test

import (
	"maps"
	"slices"
	"testing"

	"minikcm.dev/minikcm/internal/writerecord"
)

func revisions(writes []writerecord.Write) []int64 {
	var all []int64
	for i := range writes {
		all = append(all, writes[i].Revision)
	}
	return all
}

// The log keeps the newest writes, the oldest first.
func TestLogIsBounded(t *testing.T) {
	log := writerecord.NewLog(3)
	for revision := int64(1); revision <= 7; revision++ {
		log.Add(writerecord.Write{Revision: revision}, nil, nil)
		got := revisions(log.Writes(nil))
		for i, r := range got {
			if want := revision - int64(len(got)-1-i); r != want {
				t.Fatalf("after %d: %v", revision, got)
			}
		}
		if want := min(revision, 3); int64(len(got)) != want {
			t.Fatalf("after %d: %d writes are kept, want %d", revision, len(got), want)
		}
	}
	odd := log.Writes(func(w *writerecord.Write) bool { return w.Revision%2 == 1 })
	if got := revisions(odd); len(got) != 2 || got[0] != 5 || got[1] != 7 {
		t.Fatalf("of 5 to 7 the odd ones: %v", got)
	}
}

// A reader that requests the writes after its newest revision gets every write, including writes
// that are recorded after a later revision.
func TestSince(t *testing.T) {
	for name, arrivals := range map[string][][]int64{
		"in order":       {{1, 2}, {3}, {4, 5, 6}},
		"one late":       {{1, 3}, {2}, {4}},
		"several late":   {{4, 6}, {5, 3}, {8, 1}, {2, 7}},
		"late and alone": {{9}, {}, {1}, {}},
	} {
		log := writerecord.NewLog(0)
		newest, read, recorded := int64(0), map[int64]bool{}, 0
		for _, batch := range arrivals {
			for _, revision := range batch {
				log.Add(writerecord.Write{Revision: revision}, nil, nil)
				recorded++
			}
			got := revisions(log.Since(newest, nil))
			if !slices.IsSorted(got) {
				t.Errorf("%s: the answer is not sorted: %v", name, got)
			}
			for _, revision := range got {
				read[revision] = true
				newest = max(newest, revision)
			}
			if len(read) != recorded {
				t.Errorf("%s: after %v, the reader has %v", name, batch, slices.Sorted(maps.Keys(read)))
			}
		}
		if got := log.Since(newest, nil); name == "in order" && got != nil {
			t.Errorf("%s: after the newest revision come %v", name, revisions(got))
		}
	}
}

// A match leaves out writes, but not the one after which others are new.
func TestSinceOfAMatch(t *testing.T) {
	log := writerecord.NewLog(0)
	for _, revision := range []int64{2, 5, 3, 4, 6} {
		log.Add(writerecord.Write{Revision: revision}, nil, nil)
	}
	even := func(w *writerecord.Write) bool { return w.Revision%2 == 0 }
	if got := revisions(log.Since(5, even)); !slices.Equal(got, []int64{4, 6}) {
		t.Errorf("after 5: %v", got)
	}
}

// An observer gets every write until it is stopped.
func TestObserve(t *testing.T) {
	log := writerecord.NewLog(0)
	var first, second []int64
	stopFirst := log.Observe(func(w *writerecord.Write) { first = append(first, w.Revision) })
	stopSecond := log.Observe(func(w *writerecord.Write) { second = append(second, w.Revision) })
	log.Add(writerecord.Write{Revision: 1}, nil, nil)
	stopFirst()
	log.Add(writerecord.Write{Revision: 2}, nil, nil)
	stopSecond()
	log.Add(writerecord.Write{Revision: 3}, nil, nil)
	if len(first) != 1 || len(second) != 2 || second[1] != 2 {
		t.Fatalf("observed: %v and %v", first, second)
	}
}

// The size of the log is the size of the writes that it keeps.
func TestSize(t *testing.T) {
	l := writerecord.NewLog(2)
	add := func(name string) int64 {
		l.Add(writerecord.Write{Name: name, Effect: writerecord.Removed}, nil, nil)
		_, bytes := l.Size()
		return bytes
	}
	one := add("a")
	two := add("b")
	if one <= 0 || two != 2*one || l.Capacity() != 2 {
		t.Errorf("%d bytes, then %d", one, two)
	}
	if long := add("longer"); long != two+5 {
		t.Errorf("%d bytes instead of %d", long, two+5)
	}
	if writes, _ := l.Size(); writes != 2 {
		t.Errorf("%d writes", writes)
	}
}
