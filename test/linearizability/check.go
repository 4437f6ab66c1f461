package linearizability

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// checkTimeout bounds porcupine's search, whose time can grow exponentially with the number of
// unknown outcomes at a time.
const checkTimeout = 5 * time.Minute

// Check returns an error for everything in a history and in the streams of watches that no
// correct server does. complete reports that the streams together have all events from the
// begin to the end of the history; they then decide which unknown writes were made.
func Check(operations []Operation, streams []Stream, complete bool) error {
	var errs []error
	for _, s := range streams {
		errs = append(errs, s.ordered())
	}
	errs = append(errs, agree(operations, streams), followTime(operations))
	if complete {
		operations = resolve(operations, streams)
	}
	return errors.Join(append(errs, linearizable(operations))...)
}

// linearizable searches for an order of each key's operations.
func linearizable(operations []Operation) error {
	history := make([]porcupine.Operation, len(operations))
	for i, o := range operations {
		history[i] = porcupine.Operation{ClientId: o.Client, Input: o, Call: int64(o.Call), Return: int64(o.Return)}
	}
	model := newModel()
	result, info := porcupine.CheckOperationsVerbose(model, history, checkTimeout)
	switch result {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("no verdict on %d operations after %v: record a shorter history", len(operations), checkTimeout)
	}
	file, err := os.CreateTemp("", "minikcm-history-*.html")
	if err != nil {
		return fmt.Errorf("the history is not linearizable, and cannot be shown: %w", err)
	}
	return errors.Join(fmt.Errorf("the history is not linearizable: see %s", file.Name()), porcupine.Visualize(model, info, file), file.Close())
}

// followTime checks that a write's revision exceeds the revisions of all responses before its
// request, and that a list is not older than these. All keys have one sequence of revisions.
func followTime(operations []Operation) error {
	called, returned := slices.Clone(operations), slices.Clone(operations)
	slices.SortFunc(called, func(a, b Operation) int { return cmp.Compare(a.Call, b.Call) })
	slices.SortFunc(returned, func(a, b Operation) int { return cmp.Compare(a.Return, b.Return) })
	var errs []error
	var newest int64
	for _, o := range called {
		for len(returned) > 0 && returned[0].Return < o.Call {
			newest = max(newest, returned[0].Revision, returned[0].ListRevision)
			returned = returned[1:]
		}
		switch {
		case o.Outcome == Done && (o.Verb == Create || o.Verb == Update) && o.Revision <= newest:
			errs = append(errs, fmt.Errorf("%v: revision %d had been seen before the request", o, newest))
		case o.Verb == List && o.ListRevision < newest:
			errs = append(errs, fmt.Errorf("%v: the list is of revision %d; revision %d had been seen before the request", o, o.ListRevision, newest))
		}
	}
	return errors.Join(errs...)
}

// resolve replaces unknown outcomes by the outcomes that the streams, which have all events, show.
// A delete stays unknown if its key was deleted at all.
func resolve(operations []Operation, streams []Stream) []Operation {
	made, deleted := map[string]int64{}, map[string]bool{}
	for _, s := range streams {
		for _, e := range s.Events {
			switch {
			case e.Type == Deleted:
				deleted[e.Key] = true
			case e.Type != Bookmark:
				made[e.Value] = e.Revision
			}
		}
	}
	var resolved []Operation
	for _, o := range operations {
		if o.Outcome == Unknown && o.Verb != Delete {
			if o.Revision = made[o.Value]; o.Revision == 0 {
				continue
			}
			o.Outcome = Done
		}
		if o.Outcome == Unknown && o.Verb == Delete && !deleted[o.Key] {
			continue
		}
		resolved = append(resolved, o)
	}
	return resolved
}
