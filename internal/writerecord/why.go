package writerecord

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/reasons"
)

const (
	// maxDepth limits the length of a chain of causes, maxFan the causes shown per
	// write.
	maxDepth = 40
	maxFan   = 6
)

// Explanation explains the state of an object: of the newest one with its name.
type Explanation struct {
	// Object is the object's last write. If the record has none, it only names the
	// object.
	Object Write `json:"object"`
	// Creation, Change and Deletion are the object's first write, the last change before
	// its deletion, and its deletion; nil if there was none or the record has dropped
	// it.
	Creation *Link `json:"creation,omitempty"`
	Change   *Link `json:"change,omitempty"`
	Deletion *Link `json:"deletion,omitempty"`
	// Now explains why an existing object is not in the expected state, if that is
	// known. It is not derived from the record.
	Now *reasons.Report `json:"now,omitempty"`
	// Refused are the requests for the object, or that it depends on, that were refused. They
	// are not derived from the writes; see Refuse.
	Refused []Refusal `json:"refused,omitempty"`
	// Writes is the number of the object's writes in the record, Forgotten the number of
	// writes to all objects that the record has dropped, Since the record's first
	// revision.
	Writes    int   `json:"writes"`
	Forgotten int64 `json:"forgotten,omitempty"`
	Since     int64 `json:"since"`
}

// Link is a write and its causes.
type Link struct {
	Write
	Because []*Link `json:"because,omitempty"`
	// Inferred is set for a probable cause that is not recorded: how its object is
	// related to the one whose write it caused.
	Inferred Relation `json:"inferred,omitempty"`
	// Note says why the chain ends here, if that is not obvious.
	Note string `json:"note,omitempty"`
}

// Query identifies an object. Group, Resource and Kind restrict it if set; Resource and
// Kind are alternatives. Namespace is empty for cluster-scoped objects.
type Query struct {
	Group, Resource, Kind, Namespace, Name string
}

func (q *Query) matches(w *Write) bool {
	return w.Name == q.Name && w.Namespace == q.Namespace && q.sameKind(w)
}

func (q *Query) sameKind(w *Write) bool {
	return (q.Group == "" || q.Group == w.Resource.Group) &&
		(q.Resource == "" || q.Resource == w.Resource.Resource) &&
		(q.Kind == "" || q.Kind == w.Kind)
}

// Explain follows the causes of an object's writes back to their origin. writes is a
// record, forgotten the number of writes that it has dropped. The error is a
// *NeverWrittenError.
func Explain(writes []Write, forgotten int64, query Query) (*Explanation, error) {
	e := &explainer{writes: writes, byRevision: make(map[int64]int, len(writes))}
	var own []int
	for i := range writes {
		e.byRevision[writes[i].Revision] = i
		if query.matches(&writes[i]) {
			own = append(own, i)
		}
	}
	since := int64(0)
	if len(writes) > 0 {
		since = writes[0].Revision
	}
	e.since, e.forgotten = since, forgotten
	if len(own) == 0 {
		never := &NeverWrittenError{Query: query, Since: since, Forgotten: forgotten}
		for i := range writes {
			if query.sameKind(&writes[i]) {
				never.Suggest(writes[i].Namespace, writes[i].Name)
			}
		}
		return nil, never
	}
	slices.SortFunc(own, func(a, b int) int { return cmp.Compare(writes[a].Revision, writes[b].Revision) })
	own = newest(writes, own)
	out := &Explanation{Object: writes[own[len(own)-1]], Writes: len(own), Forgotten: forgotten, Since: since}
	creation, change, deletion := stations(writes, own)
	out.Creation, out.Change, out.Deletion = e.chain(creation), e.chain(change), e.chain(deletion)
	return out, nil
}

// maxRefused caps the refusals of an explanation.
const maxRefused = 20

// Refuse adds the refusals that concern the object of the query, the newest ones if there are too many.
func (e *Explanation) Refuse(all []Refusal, query Query) {
	regarding := slices.DeleteFunc(slices.Clone(all), func(r Refusal) bool { return !r.regards(&query, &e.Object) })
	slices.SortStableFunc(regarding, func(a, b Refusal) int { return b.Last.Compare(a.Last) })
	e.Refused = regarding[:min(len(regarding), maxRefused)]
}

// newest returns the writes of the newest object of the name.
func newest(writes []Write, own []int) []int {
	uid := writes[own[len(own)-1]].UID
	return slices.DeleteFunc(own, func(i int) bool { return writes[i].UID != uid })
}

// stations returns the indices of the creation, of the last change before the deletion,
// and of the deletion; -1: none.
func stations(writes []Write, own []int) (creation, change, deletion int) {
	creation, change, deletion = -1, -1, -1
	marked := false
	for _, i := range own {
		w := &writes[i]
		switch {
		case w.Effect == Created:
			creation = i
		case w.Effect == Removed || w.marks():
			deletion, marked = i, true
		case !marked && (len(w.Changes) > 0 || change < 0):
			change = i
		}
	}
	return creation, change, deletion
}

// marks reports whether the write marks the object for deletion.
func (w *Write) marks() bool {
	return slices.ContainsFunc(w.Changes, func(c Change) bool { return c.Path == "metadata.deletionTimestamp" && c.To != "" })
}

// explainer follows causes.
type explainer struct {
	writes     []Write
	byRevision map[int64]int
	since      int64
	forgotten  int64
	// inferred is created on first use.
	inferred *inference
}

func (e *explainer) chain(i int) *Link {
	if i < 0 {
		return nil
	}
	return e.link(i, map[int64]bool{}, maxDepth)
}

// link returns a write with its causes. Each write appears once in a tree.
func (e *explainer) link(i int, seen map[int64]bool, depth int) *Link {
	w := &e.writes[i]
	seen[w.Revision] = true
	l := &Link{Write: *w}
	causes := e.causes(w)
	switch {
	case len(causes) == 0:
		e.infer(l, seen, depth)
		return l
	case depth == 0:
		l.Note = "followed no further"
		return l
	}
	for _, cause := range causes {
		if len(l.Because) == maxFan {
			l.Note = fmt.Sprintf("and %d more", len(causes)-maxFan)
			break
		}
		if !seen[e.writes[cause].Revision] {
			l.Because = append(l.Because, e.link(cause, seen, depth-1))
		}
	}
	return l
}

// infer adds the probable cause to a write without recorded causes, or a note why there
// is none.
func (e *explainer) infer(l *Link, seen map[int64]bool, depth int) {
	if e.inferred == nil {
		e.inferred = newInference(e.writes)
	}
	cause, relation := e.inferred.cause(&l.Write)
	switch {
	case cause < 0 || seen[e.writes[cause].Revision]:
		l.Note = e.ending(&l.Write)
	case depth == 0:
		l.Note = "followed no further"
	default:
		because := e.link(cause, seen, depth-1)
		because.Inferred = relation
		l.Because = append(l.Because, because)
	}
}

// causes returns the indices of w's causes that are in the record, the newest first.
// Earlier writes of the same writer to the same object are omitted if there are other
// causes, because they explain nothing.
func (e *explainer) causes(w *Write) []int {
	var all []int
	for _, revision := range w.Causes {
		if i, ok := e.byRevision[revision]; ok && revision < w.Revision && !slices.Contains(all, i) {
			all = append(all, i)
		}
	}
	others := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return e.writes[i].echoOf(w) })
	if len(others) > 0 {
		all = others
	} else if w.Effect != Removed {
		all = e.behind(all)
	}
	slices.SortFunc(all, func(a, b int) int { return cmp.Compare(e.writes[b].Revision, e.writes[a].Revision) })
	return all
}

// behind returns only the newest of a writer's own writes.
func (e *explainer) behind(own []int) []int {
	if len(own) < 2 {
		return own
	}
	return []int{slices.MaxFunc(own, func(a, b int) int { return cmp.Compare(e.writes[a].Revision, e.writes[b].Revision) })}
}

// echoOf reports whether w was made by the same writer to the same object as next.
func (w *Write) echoOf(next *Write) bool {
	return w.Writer() == next.Writer() && w.Resource == next.Resource && w.Namespace == next.Namespace && w.Name == next.Name
}

// ending returns the note of a write without causes.
func (e *explainer) ending(w *Write) string {
	if len(w.Causes) == 0 {
		if w.own() {
			return "no write woke it: its start, a timer, or something that is not in the API"
		}
		if e.inferred.asOwner(w) {
			return fmt.Sprintf("its controller owner %s/%s has no earlier write in the record", strings.ToLower(w.Controller.Kind), w.Controller.Name)
		}
		return ""
	}
	newest := slices.Max(w.Causes)
	if newest < e.since {
		if e.forgotten > 0 {
			return fmt.Sprintf("because of revision %d, which is forgotten: the record begins with %d", newest, e.since)
		}
		return fmt.Sprintf("because of revision %d, from before the record began", newest)
	}
	return fmt.Sprintf("because of revision %d, which this server did not write or not for a client", newest)
}

// textOfTime formats a time of the record for people, as an offset from start if it is
// set.
func textOfTime(at, start time.Time) string {
	if start.IsZero() {
		return at.UTC().Format("2006-01-02 15:04:05.000")
	}
	return "+" + at.Sub(start).Round(time.Millisecond).String()
}
