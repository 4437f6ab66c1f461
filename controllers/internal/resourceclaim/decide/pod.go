package decide

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// PodClaim is the annotation of a generated claim: the name of the pod's claim that it is for.
const PodClaim = "resource.kubernetes.io/pod-claim-name"

// maxGenerateName leaves room for a hyphen and five random characters in a name of 63.
const maxGenerateName = 57

// Known looks up the claims and templates of a pod's namespace in the caches. Each function
// returns nil for an object that does not exist.
type Known struct {
	Claim func(name string) *resourcev1.ResourceClaim
	// Generated returns the claim that was generated for one of the pod's claims.
	Generated func(podClaim string) *resourcev1.ResourceClaim
	// Template fails if the template does not exist.
	Template func(name string) (*resourcev1.ResourceClaimTemplate, error)
}

// Ended reports whether a pod will not run again, and so needs no claims.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed ||
		pod.DeletionTimestamp != nil && pod.Spec.NodeName == ""
}

// Generate returns the claim for one of the pod's claims that the pod's status must name: a claim
// that exists, or one to create if create is set. Nil: the status is right.
func Generate(pod *corev1.Pod, podClaim *corev1.PodResourceClaim, known Known) (claim *resourcev1.ResourceClaim, create bool, err error) {
	name, ofPod, err := resourceclaim.Name(pod, podClaim)
	switch {
	case errors.Is(err, resourceclaim.ErrClaimNotFound):
	case err != nil:
		return nil, false, fmt.Errorf("checking for claim before creating it: %w", err)
	case name == nil:
		return nil, false, nil // the pod needs no claim
	default:
		named := known.Claim(*name)
		if named != nil && (!ofPod || resourceclaim.IsForPod(pod, named, false) == nil) {
			return nil, false, nil
		}
	}
	if podClaim.ResourceClaimTemplateName == nil {
		return nil, false, nil // the user creates the claim
	}
	if claim := known.Generated(podClaim.Name); claim != nil {
		return claim, false, nil
	}
	template, err := known.Template(*podClaim.ResourceClaimTemplateName)
	if err != nil {
		return nil, false, fmt.Errorf("resource claim template %q: %w", *podClaim.ResourceClaimTemplateName, err)
	}
	return fromTemplate(pod, podClaim.Name, template), true, nil
}

func fromTemplate(pod *corev1.Pod, podClaim string, template *resourcev1.ResourceClaimTemplate) *resourcev1.ResourceClaim {
	annotations := maps.Clone(template.Spec.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[PodClaim] = podClaim
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, GenerateName: generateName(pod.Name, podClaim),
			Annotations: annotations, Labels: template.Spec.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))},
		},
		Spec: *template.Spec.Spec.DeepCopy(),
	}
}

// generateName joins the names of a pod and its claim. If that is too long, both are shortened in
// proportion to their lengths.
func generateName(pod, podClaim string) string {
	name := pod + "-" + podClaim + "-"
	if length := len(name); length > maxGenerateName {
		name = pod[:len(pod)*maxGenerateName/length] + "-" + podClaim[:len(podClaim)*maxGenerateName/length]
	}
	return name
}

// Statuses returns the claim statuses of a pod with the names of generated claims, by the names of
// the pod's claims.
func Statuses(pod *corev1.Pod, generated map[string]string) []corev1.PodResourceClaimStatus {
	statuses := slices.Clone(pod.Status.ResourceClaimStatuses)
	for i := range pod.Spec.ResourceClaims {
		podClaim := pod.Spec.ResourceClaims[i].Name
		name, has := generated[podClaim]
		if !has {
			continue
		}
		at := slices.IndexFunc(statuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == podClaim })
		if at < 0 {
			statuses = append(statuses, corev1.PodResourceClaimStatus{Name: podClaim, ResourceClaimName: &name})
			continue
		}
		statuses[at].ResourceClaimName = &name
	}
	return statuses
}

// Reserve returns the allocated claims of a pod with a node that are not reserved for it, with the
// reservation added. The scheduler reserves the claims of the pods that it binds; Reserve serves
// the pods that were created with a node.
func Reserve(pod *corev1.Pod, known Known) ([]*resourcev1.ResourceClaim, error) {
	if pod.Spec.NodeName == "" {
		return nil, nil
	}
	var reserve []*resourcev1.ResourceClaim
	for i := range pod.Spec.ResourceClaims {
		name, ofPod, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil {
			return nil, err
		}
		if name == nil {
			continue
		}
		claim := known.Claim(*name)
		if claim == nil {
			return reserve, nil
		}
		if ofPod {
			if err := resourceclaim.IsForPod(pod, claim, false); err != nil {
				return nil, err
			}
		}
		if claim.Status.Allocation == nil || resourceclaim.IsReservedForPod(pod, claim, false) || !resourceclaim.CanBeReserved(claim) {
			continue
		}
		claim = claim.DeepCopy()
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
		reserve = append(reserve, claim)
	}
	return reserve, nil
}
