package scenarios

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm/internal/scenario/check"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (r *run) resource(q check.Query) dynamic.ResourceInterface {
	return r.dynamic.Resource(q.Resource).Namespace(q.Namespace)
}

// named returns the client for KIND/NAME, with the name and the kind.
func (r *run) named(target, namespace string) (dynamic.ResourceInterface, string, schema.GroupKind, error) {
	kind, name, err := spec.SplitTarget(target)
	if err != nil {
		return nil, "", schema.GroupKind{}, err
	}
	q, group, err := r.kinds.Target(kind, namespace)
	if err != nil {
		return nil, "", group, err
	}
	return r.resource(q), name, group, nil
}
