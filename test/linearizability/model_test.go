package linearizability

import (
	"strings"
	"testing"
	"time"
)

// at returns an operation that takes place between two times.
func at(call, end time.Duration, o Operation) Operation {
	o.Key, o.Call, o.Return = "k", call, end
	return o
}

func created(revision int64, value string) Operation {
	return Operation{Verb: Create, Value: value, Outcome: Done, Revision: revision}
}

func updated(expected, revision int64, value string) Operation {
	return Operation{Verb: Update, Value: value, Expected: expected, Outcome: Done, Revision: revision}
}

func got(revision int64, value string) Operation {
	return Operation{Verb: Get, Value: value, Outcome: Done, Revision: revision}
}

func outcome(v Verb, expected int64, value string, o Outcome) Operation {
	return Operation{Verb: v, Expected: expected, Value: value, Outcome: o}
}

// Histories of one key, and whether a server may show them.
func TestHistories(t *testing.T) {
	for name, test := range map[string]struct {
		history []Operation
		wrong   bool
	}{
		"one client": {history: []Operation{
			at(0, 1, created(5, "a")), at(2, 3, updated(5, 6, "b")), at(4, 5, got(6, "b")),
			at(6, 7, outcome(Delete, 6, "", Done)), at(8, 9, outcome(Get, 0, "", NotFound)), at(10, 11, created(8, "c")),
		}},
		"concurrent read of the old state": {history: []Operation{
			at(0, 1, created(5, "a")), at(2, 6, updated(5, 6, "b")), at(3, 5, got(5, "a")),
		}},
		"stale read": {wrong: true, history: []Operation{
			at(0, 1, created(5, "a")), at(2, 3, updated(5, 6, "b")), at(4, 5, got(5, "a")),
		}},
		"stale not found": {wrong: true, history: []Operation{
			at(0, 1, created(5, "a")), at(2, 3, outcome(Get, 0, "", NotFound)),
		}},
		"lost write": {wrong: true, history: []Operation{
			at(0, 1, created(5, "a")), at(2, 3, updated(5, 6, "b")), at(4, 5, updated(5, 7, "c")),
		}},
		"two winners": {wrong: true, history: []Operation{
			at(0, 1, created(5, "a")), at(2, 9, updated(5, 6, "b")), at(2, 9, updated(5, 7, "c")),
		}},
		"write that no client made": {wrong: true, history: []Operation{at(0, 1, created(5, "a")), at(2, 3, got(6, "x"))}},
		"read back in time": {wrong: true, history: []Operation{
			at(0, 1, created(5, "a")), at(2, 20, updated(5, 6, "b")), at(3, 5, got(6, "b")), at(6, 7, got(5, "a")),
		}},
		"conflict without cause": {wrong: true, history: []Operation{
			at(0, 1, created(5, "a")), at(2, 3, outcome(Update, 5, "b", Conflict)),
		}},
		"unknown write that was made": {history: []Operation{
			at(0, 1, created(5, "a")), at(2, never, outcome(Update, 5, "b", Unknown)), at(4, 5, got(6, "b")), at(6, 7, updated(6, 7, "c")),
		}},
		"unknown write that was not made": {history: []Operation{
			at(0, 1, created(5, "a")), at(2, never, outcome(Update, 5, "b", Unknown)), at(4, 5, updated(5, 6, "c")), at(6, 7, got(6, "c")),
		}},
		"unknown write that was made late": {history: []Operation{
			at(0, 1, created(5, "a")), at(2, never, outcome(Update, 5, "b", Unknown)), at(4, 5, got(5, "a")), at(6, 7, got(9, "b")),
		}},
		"unknown write that was made and undone": {wrong: true, history: []Operation{
			at(0, 1, created(5, "a")), at(2, never, outcome(Update, 5, "b", Unknown)), at(4, 5, got(6, "b")), at(6, 7, got(5, "a")),
		}},
		"unknown delete": {history: []Operation{
			at(0, 1, created(5, "a")), at(2, never, outcome(Delete, 5, "", Unknown)), at(4, 5, outcome(Create, 0, "b", Exists)), at(6, 7, created(9, "c")),
		}},
		"revision that went back": {wrong: true, history: []Operation{
			at(0, 1, created(5, "a")), at(2, 3, outcome(Delete, 5, "", Done)), at(4, 5, created(4, "b")),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir()) // for the picture
			err := Check(test.history, nil, false)
			if (err != nil) != test.wrong {
				t.Errorf("the verdict is %v", err)
			}
		})
	}
}

// A list must not be older than what was seen before, nor a write's revision.
func TestFollowTime(t *testing.T) {
	old := Operation{Verb: List, Outcome: NotFound, ListRevision: 4}
	for name, late := range map[string]Operation{"list": old, "write": created(4, "b")} {
		history := []Operation{at(0, 1, created(5, "a")), at(2, 3, late)}
		history[1].Key = "other"
		if err := followTime(history); err == nil || !strings.Contains(err.Error(), "revision 5 had been seen before the request") {
			t.Errorf("an old %s: %v", name, err)
		}
	}
}

// Streams of watches, and what is wrong with them.
func TestStreams(t *testing.T) {
	operations := []Operation{
		at(0, 1, created(5, "a")), at(2, 3, updated(5, 6, "b")), at(4, 5, outcome(Delete, 6, "", Done)), at(6, never, outcome(Create, 0, "c", Unknown)),
	}
	add, change := Event{Added, "k", "a", 5}, Event{Modified, "k", "b", 6}
	remove, again := Event{Deleted, "k", "b", 7}, Event{Added, "k", "c", 8}
	mark := func(revision int64) Event { return Event{Type: Bookmark, Revision: revision} }
	full := Stream{Name: "full", From: 4, Events: []Event{add, change, remove, again, mark(9)}}
	for name, test := range map[string]struct {
		events []Event
		want   string // empty: nothing is wrong
	}{
		"all":             {[]Event{add, mark(5), change, remove, again}, ""},
		"not yet all":     {[]Event{add, change}, ""},
		"missed":          {[]Event{add, remove}, "missed {ADDED k b 6}"},
		"false bookmark":  {[]Event{add, mark(6), change}, "came after revision 6"},
		"early bookmark":  {[]Event{add, mark(7)}, "missed {"},
		"doubled":         {[]Event{add, add}, "at revision 5 came after revision 5"},
		"out of order":    {[]Event{change, add}, "at revision 5 came after revision 6"},
		"wrong value":     {[]Event{add, {Modified, "k", "x", 6}}, "no client wrote"},
		"wrong type":      {[]Event{add, {Added, "k", "b", 6}}, "came after ADDED"},
		"other than acks": {[]Event{add, {Modified, "k", "c", 6}}, "elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(operations, []Stream{full, {Name: "tested", From: 4, Events: test.events}}, true)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("the verdict is %v, want %s", err, test.want)
			}
		})
	}
}

func TestCovers(t *testing.T) {
	part := func(from, to int64) Stream {
		return Stream{From: from, Events: []Event{{Type: Bookmark, Revision: to}}}
	}
	for _, test := range []struct {
		streams []Stream
		want    bool
	}{
		{[]Stream{part(1, 9)}, true},
		{[]Stream{part(5, 9), part(1, 5)}, true},
		{[]Stream{part(6, 9), part(1, 5)}, false},
		{[]Stream{part(2, 9)}, false},
		{nil, false},
	} {
		if covers(test.streams, 1, 9) != test.want {
			t.Errorf("%v: want %v", test.streams, test.want)
		}
	}
}
