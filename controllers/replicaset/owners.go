package replicaset

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/controllers/plan"
)

// Owners is how the objects of a kind look as ReplicaSets: the decisions are made
// for those alone, whatever kind of owner keeps a number of pods of a template.
type Owners[T plan.Object] struct {
	Kind schema.GroupVersionKind
	// View returns the owner as a ReplicaSet. It may share all that pointers lead
	// to, since nobody changes it.
	View func(owner T) *appsv1.ReplicaSet
	// Selector returns what the view selects its pods by.
	Selector func(owner T) *metav1.LabelSelector
	// WithStatus returns a copy of the owner that has the status, for it to be
	// written. It too may share what pointers lead to.
	WithStatus func(owner T, status *appsv1.ReplicaSetStatus) T
}

// replicaSets are the ReplicaSets as they are.
func replicaSets() Owners[*appsv1.ReplicaSet] {
	return Owners[*appsv1.ReplicaSet]{
		Kind:     Kind,
		View:     func(rs *appsv1.ReplicaSet) *appsv1.ReplicaSet { return rs },
		Selector: func(rs *appsv1.ReplicaSet) *metav1.LabelSelector { return rs.Spec.Selector },
		WithStatus: func(rs *appsv1.ReplicaSet, status *appsv1.ReplicaSetStatus) *appsv1.ReplicaSet {
			update := *rs
			update.Status = *status
			return &update
		},
	}
}
