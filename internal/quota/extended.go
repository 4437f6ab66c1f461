package quota

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Backing holds the inputs of the usage of resource claims, other than the claims, if DeviceClasses back
// extended resources (KEP-5004): the devices of such a class also count as the resource. The zero value shows
// no classes.
type Backing struct {
	// Classes returns all DeviceClasses; nil: there are none.
	Classes func() []*resourcev1.DeviceClass
	// Pod returns a pod (nil: it does not exist), and Claims the resource claims of a namespace. They are
	// needed with Classes.
	Pod    func(namespace, name string) *corev1.Pod
	Claims func(namespace string) []*resourcev1.ResourceClaim
}

// implicit is the prefix of the quota of a DeviceClass's devices, by its name.
const implicit = corev1.DefaultResourceRequestsPrefix + resourcev1.ResourceDeviceClassPrefix

func (b Backing) classes() []*resourcev1.DeviceClass {
	if b.Classes == nil {
		return nil
	}
	return b.Classes()
}

// backs reports whether devices of a class count for a quota of this name.
func (b Backing) backs(name corev1.ResourceName) bool {
	asked, isRequest := strings.CutPrefix(string(name), corev1.DefaultResourceRequestsPrefix)
	return isRequest && slices.ContainsFunc(b.classes(), func(c *resourcev1.DeviceClass) bool {
		return asked == resourcev1.ResourceDeviceClassPrefix+c.Name || c.Spec.ExtendedResourceName != nil && asked == *c.Spec.ExtendedResourceName
	})
}

// addTo adds to a claim's usage the resources that the classes of its devices back. If the claim was made for
// a pod's extended resources, they count with the pod already.
func (b Backing) addTo(usage corev1.ResourceList, ofPod func() corev1.ResourceList) {
	backed := corev1.ResourceList{}
	for _, class := range b.classes() {
		quantity, used := usage[corev1.ResourceName(class.Name+corev1.ResourceClaimsPerClass)]
		if !used {
			continue
		}
		backed[corev1.ResourceName(implicit+class.Name)] = quantity
		if name := class.Spec.ExtendedResourceName; name != nil {
			sum := backed[corev1.ResourceName(corev1.DefaultResourceRequestsPrefix+*name)]
			sum.Add(quantity)
			backed[corev1.ResourceName(corev1.DefaultResourceRequestsPrefix+*name)] = sum
		}
	}
	if len(backed) == 0 {
		return
	}
	counted := ofPod()
	for name, quantity := range backed {
		quantity.Sub(counted[name])
		if quantity.Sign() > 0 {
			usage[name] = quantity
		}
	}
}

// podOf returns the pod whose extended resources a claim was made for; nil: there is none, or the pod has
// another such claim.
func (b Backing) podOf(claim *resourcev1.ResourceClaim) *corev1.Pod {
	owner := extendedOwner(claim)
	if owner == nil || b.Pod == nil {
		return nil
	}
	pod := b.Pod(claim.Namespace, owner.Name)
	if pod == nil || pod.UID != owner.UID {
		return nil
	}
	if status := pod.Status.ExtendedResourceClaimStatus; status != nil {
		if status.ResourceClaimName != claim.Name {
			return nil
		}
		return pod
	}
	// The status does not name the claim yet: the first one counts.
	for _, other := range b.Claims(claim.Namespace) {
		if of := extendedOwner(other); of == nil || of.UID != pod.UID {
			continue
		}
		if order := other.CreationTimestamp.Compare(claim.CreationTimestamp.Time); order < 0 || order == 0 && other.Name < claim.Name {
			return nil
		}
	}
	return pod
}

// extendedOwner returns the reference to the pod for whose extended resources a claim is; nil: none.
func extendedOwner(claim *resourcev1.ResourceClaim) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(claim)
	if claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] != "true" || ref == nil || ref.Kind != "Pod" || ref.APIVersion != "v1" {
		return nil
	}
	return ref
}
