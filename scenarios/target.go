package scenarios

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// splitTarget reads KIND/NAME or KIND, with KIND as kubectl takes it: singular,
// plural or short, and with a group after a dot if need be.
func splitTarget(target string) (kind, name string, err error) {
	kind, name, named := strings.Cut(target, "/")
	if kind == "" || (named && (name == "" || strings.Contains(name, "/"))) {
		return "", "", fmt.Errorf("%q is not KIND/NAME (such as deployment/web) or KIND (such as pods)", target)
	}
	return kind, name, nil
}

func checkSelector(selector string) error {
	if _, err := labels.Parse(selector); err != nil {
		return fmt.Errorf("%q is not a label selector (such as app=web): %w", selector, err)
	}
	return nil
}

// resource is the client for objects of a kind.
func (r *run) resource(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := r.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the cluster has no kind %s in %s: if a CustomResourceDefinition defines it, apply that first", kind.Kind, kind.GroupVersion())
	}
	if err != nil {
		return nil, fmt.Errorf("looking for the kind %s in %s: %w", kind.Kind, kind.GroupVersion(), err)
	}
	return r.client(mapping.Resource, mapping.Scope, namespace), nil
}

// target is the client for what a user calls a kind.
func (r *run) target(name, namespace string) (dynamic.ResourceInterface, error) {
	gvr := schema.ParseGroupResource(name).WithVersion("")
	full, err := r.mapper.ResourceFor(gvr)
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the cluster has no resource %q: write it as kubectl takes it, such as deployment, deployments.apps or deploy", name)
	}
	if err != nil {
		return nil, fmt.Errorf("looking for the resource %q: %w", name, err)
	}
	kind, err := r.mapper.KindFor(full)
	if err != nil {
		return nil, fmt.Errorf("finding the kind of %q: %w", name, err)
	}
	mapping, err := r.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("finding the scope of %q: %w", name, err)
	}
	return r.client(full, mapping.Scope, namespace), nil
}

func (r *run) client(gvr schema.GroupVersionResource, scope meta.RESTScope, namespace string) dynamic.ResourceInterface {
	if scope.Name() == meta.RESTScopeNameRoot {
		return r.dynamic.Resource(gvr)
	}
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return r.dynamic.Resource(gvr).Namespace(namespace)
}

func titleOf(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return strings.ToLower(o.GetKind()) + "/" + o.GetName()
	}
	return strings.ToLower(o.GetKind()) + " " + o.GetNamespace() + "/" + o.GetName()
}
