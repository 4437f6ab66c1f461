package storage

import (
	"maps"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Shallow returns a copy of obj with its own metadata struct; everything behind
// pointers, maps and slices is shared.
func Shallow(obj runtime.Object) runtime.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return shallowUnstructured(u)
	}
	v := reflect.ValueOf(obj).Elem()
	c := reflect.New(v.Type())
	c.Elem().Set(v)
	return c.Interface().(runtime.Object)
}

// scratch recycles shallow copies that only one function sees. The zero value is ready to use.
type scratch struct{ pool sync.Pool }

// shallow is Shallow for a copy that is not used after the call of done.
func (s *scratch) shallow(obj runtime.Object) (c runtime.Object, done func()) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return shallowUnstructured(u), func() {}
	}
	v := reflect.ValueOf(obj).Elem()
	c, ok := s.pool.Get().(runtime.Object)
	if !ok || reflect.TypeOf(c).Elem() != v.Type() {
		c = reflect.New(v.Type()).Interface().(runtime.Object)
	}
	into := reflect.ValueOf(c).Elem()
	into.Set(v)
	return c, func() {
		into.SetZero()
		s.pool.Put(c)
	}
}

// shallowUnstructured copies only the maps that hold the metadata.
func shallowUnstructured(u *unstructured.Unstructured) *unstructured.Unstructured {
	c := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	if metadata, ok := c.Object["metadata"].(map[string]any); ok {
		c.Object["metadata"] = maps.Clone(metadata)
	}
	return c
}

// WithRevision returns a shallow copy of obj with the given resourceVersion.
func WithRevision(obj runtime.Object, revision int64) runtime.Object {
	c := Shallow(obj)
	setRevision(c, revision)
	return c
}
