package columns

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Deployment is the Table of apps/v1 Deployments.
func Deployment() Table {
	status := appsv1.DeploymentStatus{}.SwaggerDoc()
	columns := []column{
		nameColumn(),
		text("Ready", "How many of the wanted pods are ready."),
		text("Up-to-date", status["updatedReplicas"]),
		text("Available", status["availableReplicas"]),
		ageColumn(),
	}
	columns = append(columns, containerColumns()...)
	columns = append(columns, wide(text("Selector", appsv1.DeploymentSpec{}.SwaggerDoc()["selector"])))
	return table(func(d *appsv1.Deployment, now time.Time) []any {
		names, images := containerCells(d.Spec.Template.Spec.Containers)
		return []any{
			d.Name,
			fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, deref(d.Spec.Replicas)),
			int64(d.Status.UpdatedReplicas),
			int64(d.Status.AvailableReplicas),
			age(d.CreationTimestamp, now),
			names, images, deploymentSelector(d.Spec.Selector),
		}
	}, columns...)
}

// deploymentSelector returns the empty string for a selector that selects nothing or
// everything, unlike the other workloads' columns.
func deploymentSelector(s *metav1.LabelSelector) string {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return "<error>"
	}
	return selector.String()
}

// replicaColumns returns the columns that ReplicaSets and ReplicationControllers share.
func replicaColumns(spec, status map[string]string) []column {
	columns := []column{
		nameColumn(),
		integer("Desired", spec["replicas"]),
		integer("Current", status["replicas"]),
		integer("Ready", status["readyReplicas"]),
		ageColumn(),
	}
	columns = append(columns, containerColumns()...)
	return append(columns, wide(text("Selector", spec["selector"])))
}

// ReplicaSet is the Table of apps/v1 ReplicaSets.
func ReplicaSet() Table {
	return table(func(r *appsv1.ReplicaSet, now time.Time) []any {
		names, images := containerCells(r.Spec.Template.Spec.Containers)
		return []any{
			r.Name,
			int64(deref(r.Spec.Replicas)), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas),
			age(r.CreationTimestamp, now),
			names, images, metav1.FormatLabelSelector(r.Spec.Selector),
		}
	}, replicaColumns(appsv1.ReplicaSetSpec{}.SwaggerDoc(), appsv1.ReplicaSetStatus{}.SwaggerDoc())...)
}

// ReplicationController is the Table of core/v1 ReplicationControllers.
func ReplicationController() Table {
	return table(func(r *corev1.ReplicationController, now time.Time) []any {
		var containers []corev1.Container
		if r.Spec.Template != nil {
			containers = r.Spec.Template.Spec.Containers
		}
		names, images := containerCells(containers)
		return []any{
			r.Name,
			int64(deref(r.Spec.Replicas)), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas),
			age(r.CreationTimestamp, now),
			names, images, labels.FormatLabels(r.Spec.Selector),
		}
	}, replicaColumns(corev1.ReplicationControllerSpec{}.SwaggerDoc(), corev1.ReplicationControllerStatus{}.SwaggerDoc())...)
}

// StatefulSet is the Table of apps/v1 StatefulSets.
func StatefulSet() Table {
	columns := append([]column{
		nameColumn(),
		text("Ready", "How many of the wanted pods are ready."),
		ageColumn(),
	}, containerColumns()...)
	return table(func(s *appsv1.StatefulSet, now time.Time) []any {
		names, images := containerCells(s.Spec.Template.Spec.Containers)
		return []any{
			s.Name,
			fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, deref(s.Spec.Replicas)),
			age(s.CreationTimestamp, now),
			names, images,
		}
	}, columns...)
}

// DaemonSet is the Table of apps/v1 DaemonSets.
func DaemonSet() Table {
	status := appsv1.DaemonSetStatus{}.SwaggerDoc()
	columns := []column{
		nameColumn(),
		integer("Desired", status["desiredNumberScheduled"]),
		integer("Current", status["currentNumberScheduled"]),
		integer("Ready", status["numberReady"]),
		integer("Up-to-date", status["updatedNumberScheduled"]),
		integer("Available", status["numberAvailable"]),
		text("Node Selector", corev1.PodSpec{}.SwaggerDoc()["nodeSelector"]),
		ageColumn(),
	}
	columns = append(columns, containerColumns()...)
	columns = append(columns, wide(text("Selector", appsv1.DaemonSetSpec{}.SwaggerDoc()["selector"])))
	return table(func(d *appsv1.DaemonSet, now time.Time) []any {
		names, images := containerCells(d.Spec.Template.Spec.Containers)
		return []any{
			d.Name,
			int64(d.Status.DesiredNumberScheduled),
			int64(d.Status.CurrentNumberScheduled),
			int64(d.Status.NumberReady),
			int64(d.Status.UpdatedNumberScheduled),
			int64(d.Status.NumberAvailable),
			labels.FormatLabels(d.Spec.Template.Spec.NodeSelector),
			age(d.CreationTimestamp, now),
			names, images, metav1.FormatLabelSelector(d.Spec.Selector),
		}
	}, columns...)
}

// ControllerRevision is the Table of apps/v1 ControllerRevisions.
func ControllerRevision() Table {
	return table(func(r *appsv1.ControllerRevision, now time.Time) []any {
		return []any{r.Name, controllerName(r), r.Revision, age(r.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Controller", "The object whose history the revision belongs to."),
		text("Revision", appsv1.ControllerRevision{}.SwaggerDoc()["revision"]),
		ageColumn(),
	)
}

// controllerName returns "statefulset.apps/web".
func controllerName(obj metav1.Object) string {
	ref := metav1.GetControllerOf(obj)
	if ref == nil {
		return none
	}
	gk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	return strings.ToLower(gk.String()) + "/" + ref.Name
}
