package replicaset

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/controllers/internal/replicaset/decide"
)

// Owners defines how objects of a kind are viewed as ReplicaSets. The decisions are made
// for ReplicaSets only, whatever kind of owner keeps a number of pods of a template.
type Owners[T plan.Object] struct {
	Kind schema.GroupVersionKind
	// View returns the owner as a ReplicaSet. It may share pointers with the owner, because
	// neither is changed.
	View func(owner T) *appsv1.ReplicaSet
	// Selector returns the pod selector of the view.
	Selector func(owner T) *metav1.LabelSelector
	// WithStatus returns a copy of the owner with the status, to be written. It may share
	// pointers with the owner.
	WithStatus func(owner T, status *appsv1.ReplicaSetStatus) T
}

// ReplicaSets is the identity view.
func ReplicaSets() Owners[*appsv1.ReplicaSet] {
	return Owners[*appsv1.ReplicaSet]{
		Kind:     decide.Kind,
		View:     func(rs *appsv1.ReplicaSet) *appsv1.ReplicaSet { return rs },
		Selector: func(rs *appsv1.ReplicaSet) *metav1.LabelSelector { return rs.Spec.Selector },
		WithStatus: func(rs *appsv1.ReplicaSet, status *appsv1.ReplicaSetStatus) *appsv1.ReplicaSet {
			update := *rs
			update.Status = *status
			return &update
		},
	}
}
