package kwokwatch

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// MaxObjects caps the objects of one kind that have effect.
const MaxObjects = 1000

// Parsed keeps the parsed forms of the objects of one kind, until they change.
type Parsed[T any] struct {
	kind  string
	parse func(object map[string]any) (T, error)
	known map[types.UID]parsed[T]
}

type parsed[T any] struct {
	version string
	value   T
	valid   bool
}

// NewParsed returns a Parsed of a kind.
func NewParsed[T any](kind string, parse func(object map[string]any) (T, error)) *Parsed[T] {
	return &Parsed[T]{kind: kind, parse: parse}
}

// Of returns the valid ones of the objects, in their order, and reports the others.
func (p *Parsed[T]) Of(objects []*unstructured.Unstructured, report func(kind, name string, err error)) []T {
	known := p.known
	p.known = map[types.UID]parsed[T]{}
	var valid []T
	for i, o := range objects {
		name := o.GetName()
		if o.GetNamespace() != "" {
			name = o.GetNamespace() + "/" + name
		}
		if i == MaxObjects {
			report(p.kind, name, fmt.Errorf("the cluster has more than %d objects of the kind %s", MaxObjects, p.kind))
			break
		}
		one, ok := known[o.GetUID()]
		if !ok || one.version != o.GetResourceVersion() {
			var err error
			one = parsed[T]{version: o.GetResourceVersion()}
			if one.value, err = p.parse(o.Object); err != nil {
				report(p.kind, name, err)
			}
			one.valid = err == nil
		}
		p.known[o.GetUID()] = one
		if one.valid {
			valid = append(valid, one.value)
		}
	}
	return valid
}
