package hunt

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm"
)

// The oracles of this file look at how a run came to its end. What undisturbed runs do, too, is none of their findings.

// conduct has the misdeeds of the operator in a run, whatever the state at the end is, by a key that is equal in all runs.
type conduct map[string]misdeed

// endless is the class of what fails for ever.
const endless = "endless failure"

// misdeed is one thing that the operator did wrong: the class of the bug, and a sentence about the operator ("it ...").
type misdeed struct{ class, text string }

// beyond returns what is not usual.
func (c conduct) beyond(usual conduct) []misdeed {
	var all []misdeed
	for _, key := range slices.Sorted(maps.Keys(c)) {
		if _, ok := usual[key]; !ok {
			all = append(all, c[key])
		}
	}
	return all
}

// witness keeps in an outcome what the operator did wrong. restful is how long, at the end of the run, its writes should succeed.
func (c *course) witness(out *outcome, user string, restful time.Duration) {
	out.conduct = conduct{}
	writes := c.cluster.Writes().Writes(nil)
	c.foreign(out.conduct, writes, user)
	since := c.cluster.Clock().Since(c.begin) - restful
	c.mu.Lock()
	failing(out.conduct, c.calls, since)
	c.reconcilesLocked(out.conduct, since)
	c.mu.Unlock()
	for object, text := range out.behind {
		out.conduct["behind "+object] = misdeed{"stale status", text}
	}
	if out.late > tolerated {
		out.swings = swings(writes, user)
	}
}

// foreign looks for objects that the operator changed or deleted, and that a user of the cluster has created. The operator is no such
// user, nor is a part of the control plane. Statuses and metadata are where operators note what went wrong: changes of them are none.
func (c *course) foreign(found conduct, writes []minikcm.Write, operator string) {
	creators := map[types.UID]string{}
	for i := range writes {
		w := &writes[i]
		by := creators[w.UID]
		switch {
		case w.Effect == minikcm.Created:
			creators[w.UID] = w.Actor
			continue
		case w.Actor != operator, by == "", by == operator, strings.HasPrefix(by, "system:"):
			continue
		}
		verb := "changes"
		if w.Verb == "delete" || w.Verb == "deletecollection" {
			verb = "deletes"
		} else if !slices.ContainsFunc(w.Changes, isContent) {
			continue
		}
		what := fmt.Sprintf("%s %s %s", verb, w.Kind, strings.TrimPrefix(w.Namespace+"/"+c.nameInAllRuns(w.Name), "/"))
		found[what] = misdeed{"foreign object", fmt.Sprintf("it %s, which %s has created, and which it leaves alone undisturbed", what, by)}
	}
}

func isContent(change minikcm.Change) bool {
	return !strings.HasPrefix(change.Path, "metadata") && !strings.HasPrefix(change.Path, "status")
}

// failing looks for writes that do not succeed any more: their last answer is an error, and comes after since. A create of what exists
// already is none, nor is a delete of what does not exist.
func failing(found conduct, calls []Call, since time.Duration) {
	last := map[Point]Call{}
	for _, call := range calls {
		if call.Point == (Point{}) || call.What != "" {
			continue
		}
		at := call.Point
		at.Nth = 0
		last[at] = call
	}
	for at, call := range last {
		if call.After < since || call.Code < http.StatusBadRequest || at.Verb == "create" && call.Code == http.StatusConflict || at.Verb == "delete" && call.Code == http.StatusNotFound {
			continue
		}
		found[fmt.Sprintf("%s: %d", at, call.Code)] = misdeed{endless, fmt.Sprintf("its %s fails for ever, with %d", at, call.Code)}
	}
}

// maxSwings caps the writes that show between which states an object swings.
const maxSwings = 4

// swings describes the last writes of the operator to the object that it wrote last.
func swings(writes []minikcm.Write, operator string) []string {
	var all []string
	var last types.UID
	for _, w := range slices.Backward(writes) {
		if w.Actor != operator || last != "" && w.UID != last {
			continue
		}
		last = w.UID
		text := fmt.Sprintf("%s %s %s", w.Verb, w.Kind, strings.TrimPrefix(w.Namespace+"/"+w.Name, "/"))
		separator := ": "
		for _, change := range w.Changes {
			text += fmt.Sprintf("%s%s from %s to %s", separator, change.Path, orNone(change.From), orNone(change.To))
			separator = ", "
		}
		if all = append(all, text); len(all) == maxSwings {
			break
		}
	}
	slices.Reverse(all)
	return all
}

// nameInAllRuns returns an object's name as it is the same in all runs.
func (c *course) nameInAllRuns(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, ok := c.generated[name]; ok {
		return other
	}
	return name
}
