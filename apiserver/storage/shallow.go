package storage

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Shallow returns a copy of obj that shares everything behind pointers, maps and
// slices with it, but whose own metadata struct can be set.
func Shallow(obj runtime.Object) runtime.Object {
	v := reflect.ValueOf(obj).Elem()
	c := reflect.New(v.Type())
	c.Elem().Set(v)
	return c.Interface().(runtime.Object)
}

// WithRevision returns a shallow copy of obj that has the given resourceVersion.
func WithRevision(obj runtime.Object, revision int64) runtime.Object {
	c := Shallow(obj)
	setRevision(c, revision)
	return c
}
