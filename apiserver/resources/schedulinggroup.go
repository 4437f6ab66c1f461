package resources

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// dropSchedulingGroups makes the row drop the scheduling group of pods, as upstream does while the feature
// gate GenericWorkload is off. An object that has one keeps it.
func (r *Resource) dropSchedulingGroups() {
	if r.New == nil || podSpecOf(r.New()) == nil {
		return
	}
	r.prepareFirst(func(obj, old runtime.Object) {
		if old == nil || podSpecOf(old).SchedulingGroup == nil {
			podSpecOf(obj).SchedulingGroup = nil
		}
	})
}

// prepareFirst lets drop prepare an object before the strategy does. old is nil for a new object.
func (r *Resource) prepareFirst(drop func(obj, old runtime.Object)) {
	create, update := r.Strategy.PrepareCreate, r.Strategy.PrepareUpdate
	r.Strategy.PrepareCreate = func(obj runtime.Object) {
		drop(obj, nil)
		if create != nil {
			create(obj)
		}
	}
	r.Strategy.PrepareUpdate = func(obj, old runtime.Object) {
		drop(obj, old)
		if update != nil {
			update(obj, old)
		}
	}
}

// podSpecOf returns the spec of a pod or of a workload's template; nil: the kind has none. A replication
// controller without a template gets an empty one.
func podSpecOf(obj runtime.Object) *corev1.PodSpec {
	switch obj := obj.(type) {
	case *corev1.Pod:
		return &obj.Spec
	case *corev1.PodTemplate:
		return &obj.Template.Spec
	case *corev1.ReplicationController:
		if obj.Spec.Template == nil {
			return &corev1.PodSpec{}
		}
		return &obj.Spec.Template.Spec
	case *appsv1.DaemonSet:
		return &obj.Spec.Template.Spec
	case *appsv1.Deployment:
		return &obj.Spec.Template.Spec
	case *appsv1.ReplicaSet:
		return &obj.Spec.Template.Spec
	case *appsv1.StatefulSet:
		return &obj.Spec.Template.Spec
	case *batchv1.Job:
		return &obj.Spec.Template.Spec
	case *batchv1.CronJob:
		return &obj.Spec.JobTemplate.Spec.Template.Spec
	}
	return nil
}
