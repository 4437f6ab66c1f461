package decide

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

func claimName(set *appsv1.StatefulSet, template *corev1.PersistentVolumeClaim, ordinal int) string {
	return template.Name + "-" + podName(set, ordinal)
}

// newClaim returns the claim of a template for an ordinal. It has the labels of the set's
// selector, by which all objects of the set can be found.
func newClaim(set *appsv1.StatefulSet, template *corev1.PersistentVolumeClaim, ordinal int) *corev1.PersistentVolumeClaim {
	claim := template.DeepCopy()
	claim.Name, claim.Namespace = claimName(set, template, ordinal), set.Namespace
	labels := maps.Clone(template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, set.Spec.Selector.MatchLabels)
	claim.Labels = labels
	if wantsSet, _ := owners(set, ordinal); wantsSet {
		claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, Kind)}
	}
	return claim
}

// stale reports whether the claim belongs to an earlier pod of the same name and will be
// deleted with it. A new pod must wait for a new claim.
func stale(claim *corev1.PersistentVolumeClaim, podName string) bool {
	return claim.DeletionTimestamp != nil || ofPod(claim, podName)
}

func ofPod(claim *corev1.PersistentVolumeClaim, podName string) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return ref.Kind == podKind.Kind && ref.Name == podName
	})
}

// owners returns which owners the retention policy (KEP-1847) wants for an ordinal's
// claims: the set, or the pod if it is being scaled down.
func owners(set *appsv1.StatefulSet, ordinal int) (wantsSet, wantsPod bool) {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil {
		return false, false
	}
	const remove = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	wantsPod = policy.WhenScaled == remove && !inRange(set, ordinal)
	return policy.WhenDeleted == remove && !wantsPod, wantsPod
}

// contested reports whether the retention policy must not change the claim's owners,
// because another object controls it, or an earlier set or pod of the same name owns it.
func contested(set *appsv1.StatefulSet, pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	const remove = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	if policy == nil || policy.WhenScaled != remove && policy.WhenDeleted != remove {
		return false
	}
	return slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool {
		switch {
		case ref.UID == set.UID, ref.UID == pod.UID:
			return false
		case ref.Kind == Kind.Kind && ref.Name == set.Name, ref.Kind == podKind.Kind && ref.Name == pod.Name:
			return true
		}
		return ref.Controller != nil && *ref.Controller
	})
}

// former reports whether an earlier set or pod of the same name owns the claim. The garbage
// collector then decides about the claim.
func former(set *appsv1.StatefulSet, pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return ref.Kind == Kind.Kind && ref.Name == set.Name && ref.UID != set.UID ||
			ref.Kind == podKind.Kind && ref.Name == pod.Name && ref.UID != pod.UID
	})
}

// retained returns the claim with the owners that the policy wants, or nil if it has them.
// A claim that another object controls gets neither the set nor the pod as an owner.
func retained(set *appsv1.StatefulSet, pod *corev1.Pod, ordinal int, claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	if former(set, pod, claim) {
		return nil
	}
	wantsSet, wantsPod := owners(set, ordinal)
	if contested(set, pod, claim) {
		wantsSet, wantsPod = false, false
	}
	var refs []metav1.OwnerReference
	var hasSet, hasPod bool
	control := true // whether all of our references are controller references
	for _, ref := range claim.OwnerReferences {
		if ref.UID != set.UID && ref.UID != pod.UID {
			refs = append(refs, ref)
			continue
		}
		hasSet, hasPod = hasSet || ref.UID == set.UID, hasPod || ref.UID == pod.UID
		control = control && ref.Controller != nil && *ref.Controller
	}
	if hasSet == wantsSet && hasPod == wantsPod && control {
		return nil
	}
	if wantsSet {
		refs = append(refs, *metav1.NewControllerRef(set, Kind))
	}
	if wantsPod {
		refs = append(refs, *metav1.NewControllerRef(pod, podKind))
	}
	updated := claim.DeepCopy()
	updated.OwnerReferences = refs
	return updated
}
