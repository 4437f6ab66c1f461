package plugins

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/internal/resourcename"
)

// The messages of DynamicResources about extended resources, in kube-scheduler's words.
const (
	reasonClaimLeft  = "cannot schedule extended resource claim"
	reasonNotOffered = "cannot fit resource"

	messageDeleted = "deletion of ResourceClaim completed"
)

// extendedClaimName is the name of a claim for extended resources until it is created. No claim in the
// API can have it.
const extendedClaimName = "<extended-resources>"

// Backed are the names of the DeviceClasses that back resources of a pod, by resource.
type Backed map[corev1.ResourceName]string

// leaves reports whether a resource is left to DynamicResources on a node: no device plugin offers it there.
func (b Backed) leaves(name corev1.ResourceName, n *framework.NodeInfo) bool {
	return b[name] != "" && n.Allocatable.Scalar[name] == 0
}

// Extended holds the inputs of a decision on a pod with extended resources that DeviceClasses back
// (KEP-5004). On each node, a claim is made for the resources that no device plugin offers.
type Extended struct {
	Pod *framework.PodInfo
	// Classes back resources that the pod requests.
	Classes Backed
	// Count counts the devices of a class that a node can use, and how many of them are allocated; nil: the
	// scores of resources leave the devices out.
	Count func(node *corev1.Node, class string) (all, allocated int64)
	// Left is the pod's claim that an earlier attempt has created and not deleted; nil: none.
	Left *resourcev1.ResourceClaim

	// names are the resources that may be devices, sorted; nil: they are not known yet.
	names []corev1.ResourceName
	// made is the last claim that on has made, for the resources of madeFor: most nodes leave the same resources to
	// DynamicResources.
	made    *extendedClaim
	madeFor []corev1.ResourceName
}

// extendedClaim is the claim that a pod needs on a node, and which of its requests are whose.
type extendedClaim struct {
	claim    *resourcev1.ResourceClaim
	mappings []corev1.ContainerExtendedResourceRequest
}

// on returns the claim that the pod needs on a node (nil: none), or why it cannot be there.
func (e *Extended) on(n *framework.NodeInfo) (*extendedClaim, *rejection) {
	if e == nil {
		return nil, nil
	}
	if e.Left != nil {
		return nil, fixed.claimLeft
	}
	left := make([]corev1.ResourceName, 0, 4)
	for _, name := range e.mayBeDevices() {
		if e.Classes.leaves(name, n) {
			left = append(left, name)
		} else if _, offered := n.Allocatable.Scalar[name]; !offered {
			return nil, fixed.notOffered
		}
	}
	if e.madeFor == nil || !slices.Equal(left, e.madeFor) {
		e.made, e.madeFor = nil, slices.Clone(left)
		if requests, mappings := extendedRequests(e.Pod.Pod, left, e.Classes); len(requests) > 0 {
			e.made = &extendedClaim{newExtendedClaim(e.Pod.Pod, requests), mappings}
		}
	}
	return e.made, nil
}

// mayBeDevices returns the resources of the pod that may be devices, sorted.
func (e *Extended) mayBeDevices() []corev1.ResourceName {
	if e.names == nil {
		e.names = []corev1.ResourceName{}
		for name, amount := range e.Pod.Requests.Scalar {
			if amount != 0 && resourcename.MayBeDevices(name) {
				e.names = append(e.names, name)
			}
		}
		slices.Sort(e.names)
	}
	return e.names
}

// needsDevice reports whether all nodes leave a resource of the pod to DynamicResources, so that the pod needs a device
// on each.
func (e *Extended) needsDevice(snapshot *framework.Snapshot) bool {
	return e != nil && slices.ContainsFunc(e.mayBeDevices(), func(name corev1.ResourceName) bool {
		return e.Classes[name] != "" && !snapshot.Offers(name)
	})
}

// newExtendedClaim returns a claim without a name in the API. Neither a claim in the API nor another pod's
// claim has its UID.
func newExtendedClaim(pod *corev1.Pod, requests []resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: extendedClaimName, UID: types.UID(extendedClaimName) + pod.UID,
			GenerateName:    pod.Name + "-extended-resources-",
			Annotations:     map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}},
		},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}},
	}
}

// IsExtendedClaim reports whether a claim was made for the extended resources of a pod.
func IsExtendedClaim(claim *resourcev1.ResourceClaim, pod *corev1.Pod) bool {
	owner := ExtendedClaimOwner(claim)
	return owner != nil && owner.UID == pod.UID && owner.Name == pod.Name && claim.Namespace == pod.Namespace
}

// ExtendedClaimOwner returns the reference to the pod whose extended resources a claim was made for; nil: it
// was made for something else.
func ExtendedClaimOwner(claim *resourcev1.ResourceClaim) *metav1.OwnerReference {
	if claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] != "true" {
		return nil
	}
	return metav1.GetControllerOfNoCopy(claim)
}
