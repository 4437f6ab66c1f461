package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// History is the part of the store's history that validators need.
type History struct {
	// Events are all puts and deletions, in the order of revisions.
	Events []Event
	// Compacted is the compacted revision when the watch began.
	Compacted int64
}

// matching returns the events that a stream must deliver between two revisions, both
// included.
func (h *History) matching(prefix string, from, to int64) []Event {
	start, _ := slices.BinarySearchFunc(h.Events, from, func(e Event, revision int64) int {
		return int(e.Revision - revision)
	})
	var events []Event
	for _, event := range h.Events[start:] {
		if event.Revision > to {
			break
		}
		if strings.HasPrefix(event.Key, prefix) {
			events = append(events, event)
		}
	}
	return events
}

// Validator checks one guarantee of a watch.
type Validator struct {
	Name  string
	Check func(History, Stream) error
}

// Validators returns the guarantees of every single stream. Resumable concerns several
// streams and is not included.
func Validators() []Validator {
	withoutHistory := func(check func(Stream) error) func(History, Stream) error {
		return func(_ History, s Stream) error { return check(s) }
	}
	return []Validator{
		{"ordered", withoutHistory(Ordered)},
		{"unique", withoutHistory(Unique)},
		{"atomic", Atomic},
		{"reliable", Reliable},
		{"bookmark-safe", BookmarkSafe},
		{"compaction-reported", CompactionReported},
	}
}

// Validate applies all Validators.
func Validate(h History, s Stream) error {
	var errs []error
	for _, validator := range Validators() {
		if err := validator.Check(h, s); err != nil {
			errs = append(errs, fmt.Errorf("not %s: %w", validator.Name, err))
		}
	}
	return errors.Join(errs...)
}

// Ordered checks that no event is older than an event delivered before.
func Ordered(s Stream) error {
	last := int64(0)
	for i, event := range s.Events {
		if event.Revision < last {
			return fmt.Errorf("%v is delivered after %v", event, s.Events[i-1])
		}
		last = event.Revision
	}
	return nil
}

// Unique checks that no event is delivered twice.
func Unique(s Stream) error {
	type id struct {
		key      string
		revision int64
	}
	seen := map[id]bool{}
	for _, event := range s.Events {
		if event.Type == Progress {
			continue
		}
		if seen[id{event.Key, event.Revision}] {
			return fmt.Errorf("%v is delivered twice", event)
		}
		seen[id{event.Key, event.Revision}] = true
	}
	return nil
}

// Atomic checks that all events of one revision are delivered together.
func Atomic(h History, s Stream) error {
	count, delivery := map[int64]int{}, map[int64]int{}
	for _, event := range s.Events {
		if event.Type == Progress {
			continue
		}
		if first, ok := delivery[event.Revision]; ok && first != event.Delivery {
			return fmt.Errorf("the events of revision %d come in deliveries %d and %d", event.Revision, first, event.Delivery)
		}
		delivery[event.Revision] = event.Delivery
		count[event.Revision]++
	}
	for revision, n := range count {
		if want := len(h.matching(s.Prefix, revision, revision)); n != want {
			return fmt.Errorf("%d of the %d events of revision %d are delivered", n, want, revision)
		}
	}
	return nil
}

// Reliable checks that no event is missing, invented or altered between the first
// revision requested and the last one delivered.
func Reliable(h History, s Stream) error {
	want := h.matching(s.Prefix, s.From, s.Reached())
	for _, got := range s.Events {
		switch {
		case got.Type == Progress:
			continue
		case len(want) == 0:
			return fmt.Errorf("%v is delivered, but nothing happened", got)
		case !sameChange(got, want[0]):
			return fmt.Errorf("%v is delivered instead of %v", got, want[0])
		}
		want = want[1:]
	}
	if len(want) > 0 {
		return fmt.Errorf("%d events are missing before revision %d, the first is %v", len(want), s.Reached(), want[0])
	}
	return nil
}

func sameChange(got, want Event) bool {
	return got.Type == want.Type && got.Revision == want.Revision && got.Key == want.Key && got.Value == want.Value
}

// Resumable checks that streams, each of which starts where the one before it ended,
// together equal one uninterrupted stream.
func Resumable(h History, streams ...Stream) error {
	joined := Stream{Prefix: streams[0].Prefix, From: streams[0].From}
	for i, s := range streams {
		if i > 0 && s.From != joined.Reached()+1 {
			return fmt.Errorf("stream %d resumes from %d, and the ones before had arrived at %d", i, s.From, joined.Reached())
		}
		joined.Events = append(joined.Events, s.Events...)
	}
	return errors.Join(Ordered(joined), Unique(joined), Reliable(h, joined), BookmarkSafe(h, joined))
}

// BookmarkSafe checks that, when progress is delivered, everything up to its revision
// has been, so that a watch resumed from the next revision misses nothing.
func BookmarkSafe(h History, s Stream) error {
	progress, delivered := int64(0), 0
	for _, event := range s.Events {
		if event.Type != Progress {
			if event.Revision <= progress {
				return fmt.Errorf("%v is delivered after progress to %d", event, progress)
			}
			delivered++
			continue
		}
		if event.Revision < progress {
			return fmt.Errorf("progress goes back from %d to %d", progress, event.Revision)
		}
		progress = event.Revision
		if want := len(h.matching(s.Prefix, s.From, progress)); delivered < want {
			return fmt.Errorf("%d of %d events are delivered before progress to %d", delivered, want, progress)
		}
	}
	return nil
}

// CompactionReported checks that a watch from a compacted revision reports it and
// delivers nothing else, and that no other watch reports it.
func CompactionReported(h History, s Stream) error {
	gone := s.From <= h.Compacted
	switch {
	case gone && len(s.Events) > 0:
		return fmt.Errorf("%v is delivered, but the requested revision %d is compacted (to %d)", s.Events[0], s.From, h.Compacted)
	case gone && !s.Compacted:
		return fmt.Errorf("revision %d is compacted (to %d), which is not reported", s.From, h.Compacted)
	case !gone && s.Compacted:
		return fmt.Errorf("revision %d is reported as compacted, and history is compacted to %d", s.From, h.Compacted)
	}
	return nil
}
