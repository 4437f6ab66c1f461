package check

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// AllNamespaces stands for all namespaces in a scenario.
const AllNamespaces = "*"

// Kinds finds resources by the names that kubectl takes.
type Kinds struct {
	Mapper meta.RESTMapper
	// Default takes the place of the namespace default; empty leaves that as it is.
	Default string
}

// Namespace returns the namespace that a scenario's text stands for.
func (k Kinds) Namespace(name string) string {
	if name == "" || name == metav1.NamespaceDefault {
		return cmp.Or(k.Default, metav1.NamespaceDefault)
	}
	return name
}

// Placed returns an object in its namespace, and the query that finds it.
func (k Kinds) Placed(o *spec.Object) (*spec.Object, Query, error) {
	q, err := k.Resource(o.GroupVersionKind(), o.GetNamespace())
	if err != nil || o.GetNamespace() == "" || o.GetNamespace() == q.Namespace {
		return o, q, err
	}
	placed := *o
	placed.Unstructured = *o.DeepCopy()
	placed.SetNamespace(q.Namespace)
	return &placed, q, nil
}

// Resource returns a query for the objects of a kind in a namespace; kinds without
// namespaces have none.
func (k Kinds) Resource(kind schema.GroupVersionKind, namespace string) (Query, error) {
	mapping, err := k.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) { // it may have been defined since discovery
		meta.MaybeResetRESTMapper(k.Mapper)
		mapping, err = k.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if meta.IsNoMatchError(err) {
		return Query{}, fmt.Errorf("the cluster has no kind %s in %s: if a CustomResourceDefinition defines it, apply that first", kind.Kind, kind.GroupVersion())
	}
	if err != nil {
		return Query{}, fmt.Errorf("looking for the kind %s in %s: %w", kind.Kind, kind.GroupVersion(), err)
	}
	return k.query(mapping, namespace), nil
}

// Target is Resource for a kind that is written as kubectl takes it.
func (k Kinds) Target(name, namespace string) (Query, schema.GroupKind, error) {
	written := schema.ParseGroupResource(name).WithVersion("")
	full, err := k.Mapper.ResourceFor(written)
	if meta.IsNoMatchError(err) {
		meta.MaybeResetRESTMapper(k.Mapper)
		full, err = k.Mapper.ResourceFor(written)
	}
	if meta.IsNoMatchError(err) {
		return Query{}, schema.GroupKind{}, fmt.Errorf("the cluster has no resource %q: write it as kubectl takes it, such as deployment, deployments.apps or deploy", name)
	}
	if err != nil {
		return Query{}, schema.GroupKind{}, fmt.Errorf("looking for the resource %q: %w", name, err)
	}
	kind, err := k.Mapper.KindFor(full)
	if err != nil {
		return Query{}, schema.GroupKind{}, fmt.Errorf("finding the kind of %q: %w", name, err)
	}
	mapping, err := k.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return Query{}, schema.GroupKind{}, fmt.Errorf("finding the scope of %q: %w", name, err)
	}
	q := k.query(mapping, namespace)
	q.Resource = full
	return q, kind.GroupKind(), nil
}

func (k Kinds) query(mapping *meta.RESTMapping, namespace string) Query {
	q := Query{Resource: mapping.Resource}
	if mapping.Scope.Name() != meta.RESTScopeNameRoot && namespace != AllNamespaces {
		q.Namespace = k.Namespace(namespace)
	}
	return q
}

// TitleOf is an object's name for people: pod default/web.
func TitleOf(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return strings.ToLower(o.GetKind()) + "/" + o.GetName()
	}
	return strings.ToLower(o.GetKind()) + " " + o.GetNamespace() + "/" + o.GetName()
}
