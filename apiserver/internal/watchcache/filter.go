package watchcache

import (
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
)

// filter selects part of the cache. A nil selector selects everything.
type filter struct {
	prefix string
	key    string
	label  labels.Selector
	field  fields.Selector
}

func newFilter(prefix, key string, label labels.Selector, field fields.Selector) filter {
	f := filter{prefix: prefix, key: key}
	if label != nil && !label.Empty() {
		f.label = label
	}
	if field != nil && !field.Empty() {
		f.field = field
	}
	return f
}

func (f *filter) isAll() bool { return f.label == nil && f.field == nil }

func (f *filter) inScope(key string) bool {
	if f.key != "" {
		return key == f.key
	}
	return strings.HasPrefix(key, f.prefix)
}

// matches evaluates the selectors.
func (f *filter) matches(e *Entry) bool {
	return (f.label == nil || f.label.Matches(e.Labels)) && (f.field == nil || f.field.Matches(e.Fields))
}

// event converts a change to the event that a watcher with this filter receives: ADDED
// for an object that begins to match, DELETED for one that no longer matches
// (Kubernetes documentation, "API Concepts: Efficient detection of changes").
func (f *filter) event(c *change) (Event, bool) {
	if !f.inScope(c.key()) {
		return Event{}, false
	}
	is := c.entry != nil && f.matches(c.entry)
	was := is
	switch {
	case c.previous == nil:
		was = false
	case c.entry == nil, f.field != nil, f.label != nil && !c.sameLabels:
		was = f.matches(c.previous)
	}
	switch {
	case is && was:
		return Event{Type: watch.Modified, Entry: c.entry}, true
	case is:
		return Event{Type: watch.Added, Entry: c.entry}, true
	case was:
		return Event{Type: watch.Deleted, Entry: c.last()}, true
	}
	return Event{}, false
}
