package writerecord

import (
	"cmp"
	"container/list"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"minikcm.dev/minikcm/internal/reasons"
)

const (
	// maxRefusals caps the entries of Refusals. An entry of the longest texts takes about 3 KiB.
	maxRefusals = 2000
	// maxRefusalText caps the characters of a message, and maxRefusalWord the bytes of other texts
	// that clients choose.
	maxRefusalText = 300
	maxRefusalWord = 256
)

// Refusals counts the requests that were refused. Requests of the same client, verb, object and
// refuser are one entry. It keeps the entries that grew last, and is safe for concurrent use. A nil
// *Refusals counts nothing.
type Refusals struct {
	// some is true once there is an entry, so that writes cost one atomic load before.
	some atomic.Bool

	// capacity is the largest number of entries.
	capacity int

	mu      sync.Mutex
	entries map[refusalKey]*list.Element
	// order has the entries, the least recently grown first.
	order *list.List
	// byTarget are the entries that a successful request of a client settles.
	byTarget  map[targetKey][]*list.Element
	forgotten int64
}

// targetKey identifies requests of one client that may succeed or be refused.
type targetKey struct {
	actor, writer, verb, group, resource, subresource, namespace, name string
	owner                                                              string
}

type refusalKey struct {
	targetKey
	by   reasons.Refuser
	code int32
}

// refused is an entry of Refusals.
type refused struct {
	key refusalKey
	Refusal
}

// NewRefusals returns an empty record of at most capacity entries, and never more than 2,000.
func NewRefusals(capacity int) *Refusals {
	return &Refusals{capacity: min(capacity, maxRefusals), entries: map[refusalKey]*list.Element{}, order: list.New(), byTarget: map[targetKey][]*list.Element{}}
}

// Add counts one refused request, whose time is r.Last. Count and First are ignored.
func (l *Refusals) Add(r Refusal) {
	if l == nil {
		return
	}
	r.shorten()
	key := refusalKey{targetKey: targetOf(&r), by: r.By, code: r.Code}
	l.mu.Lock()
	defer l.mu.Unlock()
	if element, known := l.entries[key]; known {
		entry := element.Value.(*refused)
		entry.Count++
		entry.Last, entry.Message, entry.Succeeded = r.Last, r.Message, nil
		l.order.MoveToBack(element)
		return
	}
	if l.order.Len() == l.capacity {
		l.dropLocked(l.order.Front())
	}
	r.First, r.Count, r.Succeeded = r.Last, 1, nil
	element := l.order.PushBack(&refused{key, r})
	l.entries[key] = element
	l.byTarget[key.targetKey] = append(l.byTarget[key.targetKey], element)
	l.some.Store(true)
}

func (l *Refusals) dropLocked(element *list.Element) {
	entry := element.Value.(*refused)
	l.forgotten += entry.Count
	l.order.Remove(element)
	delete(l.entries, entry.key)
	target := entry.key.targetKey
	if left := slices.DeleteFunc(l.byTarget[target], func(e *list.Element) bool { return e == element }); len(left) > 0 {
		l.byTarget[target] = left
	} else {
		delete(l.byTarget, target)
	}
}

func targetOf(r *Refusal) targetKey {
	key := targetKey{
		actor: r.Actor, writer: r.Writer(), verb: r.Verb, group: r.Resource.Group, resource: r.Resource.Resource, subresource: r.Subresource,
		namespace: r.Namespace, name: r.Name,
	}
	if r.Controller != nil && r.Name == "" {
		key.owner = string(r.Controller.UID)
	}
	return key
}

// succeeded notes that a request succeeded whose like may have been refused before. owner is the
// controller owner of the written object; nil if that has none or is not new.
func (l *Refusals) succeeded(w *Write, owner *Owner) {
	if l == nil || !l.some.Load() {
		return
	}
	key := targetKey{
		actor: w.Actor, writer: w.Writer(), verb: w.Verb, group: w.Resource.Group, resource: w.Resource.Resource, subresource: w.Subresource,
		namespace: w.Namespace, name: w.Name,
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settleLocked(key, w.Time)
	if w.Verb == "create" {
		key.name = "" // the server may have generated it
		if owner != nil {
			key.owner = string(owner.UID)
		}
		l.settleLocked(key, w.Time)
	}
}

func (l *Refusals) settleLocked(key targetKey, at time.Time) {
	for _, element := range l.byTarget[key] {
		if entry := element.Value.(*refused); entry.Succeeded == nil {
			entry.Succeeded = &at
		}
	}
}

// All returns the entries that match, in the order of their first refusals; a nil match selects all.
func (l *Refusals) All(match func(*Refusal) bool) []Refusal {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Refusal
	for element := l.order.Front(); element != nil; element = element.Next() {
		if entry := element.Value.(*refused); match == nil || match(&entry.Refusal) {
			out = append(out, entry.Refusal)
		}
	}
	slices.SortStableFunc(out, func(a, b Refusal) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Actor, b.Actor), cmp.Compare(a.Resource.Resource, b.Resource.Resource),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb))
	})
	return out
}

// Forgotten returns the number of refusals in the entries that were dropped.
func (l *Refusals) Forgotten() int64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.forgotten
}

// shorten limits the texts, which come from outside.
func (r *Refusal) shorten() {
	for _, text := range []*string{&r.Actor, &r.UserAgent, &r.Verb, &r.Namespace, &r.Name, &r.By.Name, &r.By.Of} {
		*text = strings.ToValidUTF8((*text)[:min(len(*text), maxRefusalWord)], "")
	}
	r.Message = strings.Join(strings.FieldsFunc(r.Message, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
	r.Message = shortened(r.Message, maxRefusalText)
}
