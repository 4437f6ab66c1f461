package storetest

import (
	"slices"
	"testing"
)

// TestValidators gives each validator a stream that violates its guarantee, and checks
// that the other validators accept it where possible.
func TestValidators(t *testing.T) {
	put := func(revision int64, key string, delivery int) Event {
		return Event{Type: Put, Revision: revision, Key: key, Value: "v", Delivery: delivery}
	}
	progress := func(revision int64, delivery int) Event {
		return Event{Type: Progress, Revision: revision, Delivery: delivery}
	}
	history := History{Compacted: 1, Events: []Event{
		put(2, "/a/1", 0), put(3, "/b/1", 0), put(4, "/a/1", 0), put(4, "/a/2", 0), put(5, "/a/3", 0),
	}}
	table := []struct {
		name   string
		stream Stream
		broken []string
	}{
		{"whole", Stream{From: 2, Prefix: "/a/", Events: []Event{
			put(2, "/a/1", 1), progress(3, 2), put(4, "/a/1", 3), put(4, "/a/2", 3), put(5, "/a/3", 4), progress(5, 5), progress(5, 6),
		}}, nil},
		{"nothing yet", Stream{From: 2, Prefix: "/a/"}, nil},
		{"later start", Stream{From: 5, Prefix: "/a/", Events: []Event{put(5, "/a/3", 1)}}, nil},
		{"compacted", Stream{From: 1, Prefix: "/a/", Compacted: true}, nil},
		{"disordered", Stream{From: 2, Prefix: "/a/", Events: []Event{
			put(4, "/a/1", 1), put(4, "/a/2", 1), put(2, "/a/1", 2),
		}}, []string{"ordered", "reliable"}},
		{"delivered twice", Stream{From: 5, Prefix: "/a/", Events: []Event{put(5, "/a/3", 1), put(5, "/a/3", 1)}}, []string{"unique", "atomic", "reliable"}},
		{"torn", Stream{From: 4, Prefix: "/a/", Events: []Event{put(4, "/a/1", 1), put(4, "/a/2", 2)}}, []string{"atomic"}},
		{"half a revision", Stream{From: 4, Prefix: "/a/", Events: []Event{put(4, "/a/1", 1), put(5, "/a/3", 2)}}, []string{"atomic", "reliable"}},
		{"gap", Stream{From: 2, Prefix: "/a/", Events: []Event{put(2, "/a/1", 1), put(5, "/a/3", 2)}}, []string{"reliable"}},
		{"other prefix", Stream{From: 3, Prefix: "/a/", Events: []Event{put(3, "/b/1", 1)}}, []string{"atomic", "reliable"}},
		{"hasty progress", Stream{From: 5, Prefix: "/a/", Events: []Event{progress(5, 1), put(5, "/a/3", 2)}}, []string{"bookmark-safe"}},
		{"silent compaction", Stream{From: 1, Prefix: "/a/"}, []string{"compaction-reported"}},
		{"false compaction", Stream{From: 2, Prefix: "/a/", Compacted: true}, []string{"compaction-reported"}},
	}
	for _, test := range table {
		t.Run(test.name, func(t *testing.T) {
			for _, validator := range Validators() {
				err := validator.Check(history, test.stream)
				if slices.Contains(test.broken, validator.Name) != (err != nil) {
					t.Errorf("%s: %v", validator.Name, err)
				}
			}
		})
	}
	first := Stream{From: 2, Prefix: "/a/", Events: []Event{put(2, "/a/1", 1), progress(3, 2)}}
	second := Stream{From: 4, Prefix: "/a/", Events: []Event{put(4, "/a/1", 1), put(4, "/a/2", 1)}}
	if err := Resumable(history, first, second); err != nil {
		t.Error(err)
	}
	second.From = 5
	if err := Resumable(history, first, second); err == nil {
		t.Error("a stream that resumes too late passes")
	}
	second = Stream{From: 4, Prefix: "/a/", Events: []Event{put(5, "/a/3", 1)}}
	if err := Resumable(history, first, second); err == nil {
		t.Error("a gap at the seam passes")
	}
}
