package check

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// viewed is an object as the watch delivered it. It is converted when it is first read.
type viewed struct {
	came runtime.Object
	made *unstructured.Unstructured
	// parts are the outermost fields that were converted by themselves.
	parts map[string]map[string]any
}

// unstructured returns the object as the server would send it in JSON.
func (o *viewed) unstructured() *unstructured.Unstructured {
	if o.made != nil {
		return o.made
	}
	if u, ok := o.came.(*unstructured.Unstructured); ok {
		o.made = u
		return u
	}
	// Neither fails for a kind of client-go's.
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.came)
	if err != nil {
		panic(fmt.Sprintf("check: making a %T unstructured: %v", o.came, err))
	}
	o.made = &unstructured.Unstructured{Object: object}
	if kinds, _, err := scheme.Scheme.ObjectKinds(o.came); err == nil {
		o.made.SetGroupVersionKind(kinds[0])
	}
	return o.made
}

// covers is Covers of the unstructured object. If that has not been converted yet, covers
// converts only the outermost fields that are wanted: a pod's status is a tenth of the pod.
func (o *viewed) covers(want map[string]any) bool {
	if o.made != nil {
		return Covers(want, o.made.Object)
	}
	for name, value := range want {
		field, ok := o.field(name)
		if !ok {
			return Covers(want, o.unstructured().Object)
		}
		if !Covers(value, field) {
			return false
		}
	}
	return true
}

// field returns one of the outermost fields as the unstructured object has it. ok is false
// if the whole object has to be converted.
func (o *viewed) field(name string) (field map[string]any, ok bool) {
	if field, ok = o.parts[name]; ok {
		return field, true
	}
	v := reflect.ValueOf(o.came)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, false
	}
	for f, value := range v.Elem().Fields() {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		// An empty one may be left out.
		if tag != name || f.Type.Kind() != reflect.Struct || value.IsZero() && options != "" {
			continue
		}
		field, err := runtime.DefaultUnstructuredConverter.ToUnstructured(value.Addr().Interface())
		if err != nil {
			return nil, false
		}
		if o.parts == nil {
			o.parts = map[string]map[string]any{}
		}
		o.parts[name] = field
		return field, true
	}
	return nil, false
}
