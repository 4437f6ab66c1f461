package linearizability

import (
	"errors"
	"fmt"
)

// EventType is the type of a watch event.
type EventType string

// The types of event.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK"
)

// Event is an event of a watch.
type Event struct {
	Type     EventType
	Key      string // empty for a bookmark
	Value    string
	Revision int64
}

// Stream holds the events that a client received without a gap: from a watch, and from the watches
// that resumed at its last revision.
type Stream struct {
	Name string
	// From is the revision after which the first watch started.
	From   int64
	Events []Event
}

// last returns the newest revision up to which the stream is complete.
func (s Stream) last() int64 {
	if len(s.Events) == 0 {
		return s.From
	}
	return s.Events[len(s.Events)-1].Revision
}

// ordered checks that the revisions rise, that bookmarks promise no more than what follows
// holds, and that each key's events fit together.
func (s Stream) ordered() error {
	var errs []error
	seen := s.From
	known := map[string]EventType{} // the type of the key's last event
	for _, e := range s.Events {
		if e.Revision < seen || e.Type != Bookmark && e.Revision == seen {
			errs = append(errs, fmt.Errorf("watch %s: %s %s at revision %d came after revision %d", s.Name, e.Type, e.Key, e.Revision, seen))
		}
		seen = max(seen, e.Revision)
		if e.Type == Bookmark {
			continue
		}
		before, any := known[e.Key]
		absent := before == Deleted
		if any && absent != (e.Type == Added) {
			errs = append(errs, fmt.Errorf("watch %s: %s %s at revision %d came after %s", s.Name, e.Type, e.Key, e.Revision, before))
		}
		known[e.Key] = e.Type
	}
	return errors.Join(errs...)
}

// agree checks that every stream has exactly the events of its range of revisions that
// another stream has or that a write was acknowledged for, and that each value is one that
// a client wrote.
func agree(operations []Operation, streams []Stream) error {
	var errs []error
	truth := map[int64]Event{}
	add := func(e Event, by string) {
		// Whether an event is an addition follows from the state that the watch started with.
		if e.Type == Modified {
			e.Type = Added
		}
		if before, known := truth[e.Revision]; known && before != e {
			errs = append(errs, fmt.Errorf("%s: at revision %d is %v, elsewhere %v", by, e.Revision, e, before))
		}
		truth[e.Revision] = e
	}
	asked := map[string]bool{}
	for _, o := range operations {
		if o.writes() {
			asked[o.Value] = true
		}
		if o.Outcome == Done && (o.Verb == Create || o.Verb == Update) {
			add(Event{Type: Added, Key: o.Key, Value: o.Value, Revision: o.Revision}, o.String())
		}
	}
	for _, s := range streams {
		for _, e := range s.Events {
			if e.Type == Bookmark {
				continue
			}
			add(e, "watch "+s.Name)
			if e.Type != Deleted && !asked[e.Value] {
				errs = append(errs, fmt.Errorf("watch %s: no client wrote %v", s.Name, e))
			}
		}
	}
	for _, s := range streams {
		errs = append(errs, s.missed(truth))
	}
	return errors.Join(errs...)
}

// missed returns an error for each event that the stream lacks.
func (s Stream) missed(truth map[int64]Event) error {
	has := map[int64]bool{}
	for _, e := range s.Events {
		if e.Type != Bookmark {
			has[e.Revision] = true
		}
	}
	var errs []error
	for revision, e := range truth {
		if revision > s.From && revision <= s.last() && !has[revision] {
			errs = append(errs, fmt.Errorf("watch %s missed %v", s.Name, e))
		}
	}
	return errors.Join(errs...)
}
