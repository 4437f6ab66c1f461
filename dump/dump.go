package dump

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Dump is objects of a cluster, in the order in which they were read.
type Dump struct {
	// Sources are where the objects come from: files, or a cluster's address.
	Sources []string
	// Skipped says what could not be read from a cluster.
	Skipped []Note

	objects []*unstructured.Unstructured
}

// New returns a dump of objects, which it keeps.
func New(source string, objects []*unstructured.Unstructured) *Dump {
	return &Dump{Sources: []string{source}, objects: objects}
}

// Len is how many objects the dump has.
func (d *Dump) Len() int { return len(d.objects) }

// HasNodes reports whether Nodes are among the objects.
func (d *Dump) HasNodes() bool {
	for _, o := range d.objects {
		if isCore(o, "Node") {
			return true
		}
	}
	return false
}

// Taken returns when the dump was taken, as far as its objects say: the newest time in their
// metadata, their statuses and their leases. The zero time: they say nothing.
func (d *Dump) Taken() time.Time {
	var newest time.Time
	for _, o := range d.objects {
		for _, part := range timedParts(o) {
			eachTime(part, func(t time.Time) {
				if t.After(newest) {
					newest = t
				}
			})
		}
	}
	return newest
}

// timedParts are the parts of an object whose times lie in the past of the dump. Those of
// custom objects may mean anything, and so may those of certificates.
func timedParts(o *unstructured.Unstructured) []any {
	parts := []any{o.Object["metadata"]}
	switch group := o.GroupVersionKind().Group; {
	case group == "coordination.k8s.io":
		parts = append(parts, o.Object["spec"])
	case isBuiltin(group) && group != "certificates.k8s.io":
		parts = append(parts, o.Object["status"])
	}
	return parts
}
