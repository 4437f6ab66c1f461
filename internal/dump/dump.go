package dump

import (
	"iter"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Dump holds the objects of a cluster in the order in which they were read.
type Dump struct {
	// Sources are the origins of the objects: files, or a cluster's address.
	Sources []string
	// Skipped lists the resources that could not be read from a cluster.
	Skipped []Note

	objects []*unstructured.Unstructured
}

// New returns a dump of objects. The caller must not change the objects afterwards.
func New(source string, objects []*unstructured.Unstructured) *Dump {
	return &Dump{Sources: []string{source}, objects: objects}
}

// Objects yields the objects, which must not be changed.
func (d *Dump) Objects() iter.Seq[*unstructured.Unstructured] { return slices.Values(d.objects) }

// Len returns the number of objects.
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

// Has reports whether objects of a kind are there. A cluster serves some kinds only with a feature gate on.
func (d *Dump) Has(group, kind string) bool {
	return slices.ContainsFunc(d.objects, func(o *unstructured.Unstructured) bool { return isKind(o, group, kind) })
}

// Taken returns an estimate of when the dump was taken: the latest time in the metadata,
// statuses and leases of its objects. It returns the zero time if they contain none.
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

// timedParts returns the parts of an object whose times are not after the dump. Times in the
// statuses of custom objects and of certificates may be in the future.
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
