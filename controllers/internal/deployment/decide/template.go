package decide

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
)

// Kind is the kind of this controller's owners.
var Kind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// sameTemplate compares templates without the hash label. It cannot compare hashes, because
// they change between Kubernetes versions.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	x, y := *a, *b
	x.Labels, y.Labels = withoutHash(a.Labels), withoutHash(b.Labels)
	return equality.Semantic.DeepEqual(x, y)
}

func withoutHash(labels map[string]string) map[string]string {
	if _, ok := labels[appsv1.DefaultDeploymentUniqueLabelKey]; !ok {
		return labels
	}
	rest := maps.Clone(labels)
	delete(rest, appsv1.DefaultDeploymentUniqueLabelKey)
	return rest
}

// unbornSet returns the ReplicaSet of the Deployment's template, without replicas yet.
func unbornSet(d *appsv1.Deployment) *set {
	hash := controllerref.TemplateHash(&d.Spec.Template, d.Status.CollisionCount)
	template := *d.Spec.Template.DeepCopy()
	template.Labels = withHash(template.Labels, hash)
	selector := d.Spec.Selector.DeepCopy()
	selector.MatchLabels = withHash(selector.MatchLabels, hash)
	return &set{
		unborn:          true,
		minReadySeconds: d.Spec.MinReadySeconds,
		ReplicaSet: &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{
				Name:            d.Name + "-" + hash,
				Namespace:       d.Namespace,
				Labels:          template.Labels,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, Kind)},
			},
			Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template},
		},
	}
}

func withHash(labels map[string]string, hash string) map[string]string {
	with := maps.Clone(labels)
	if with == nil {
		with = map[string]string{}
	}
	with[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	return with
}
