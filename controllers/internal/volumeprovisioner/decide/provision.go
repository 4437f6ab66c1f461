package decide

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"minikcm.dev/minikcm/internal/quantity"
)

// Provisioner is the name of the simulated provisioner in StorageClasses, and Driver the name of
// its CSI driver, in which the API allows no slash.
const (
	Provisioner = "minikcm.dev/simulated"
	Driver      = "simulated.minikcm.dev"
)

// Simulated is the annotation of a StorageClass of another provisioner, and of the CSIDriver of
// another driver, that is simulated if its value is "true".
const Simulated = "minikcm.dev/simulated"

// CapacityParameter is the parameter of a StorageClass that limits the sum of the capacities of
// its volumes. TopologyParameter is the key of a label: a volume is accessible only from the
// nodes that have the same value of the label as the node for which the volume was created.
const (
	CapacityParameter = "capacity"
	TopologyParameter = "topologyKey"
)

// Serves reports whether the simulated provisioner creates the volumes of a class.
func Serves(class *storagev1.StorageClass) bool {
	return class != nil && class.Provisioner != storagehelpers.NotSupportedProvisioner &&
		(class.Provisioner == Provisioner || class.Annotations[Simulated] == "true")
}

// IsDelayed reports whether the volumes of a class are created when a pod uses their claim.
func IsDelayed(class *storagev1.StorageClass) bool {
	return class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// SelectedNode returns the node that the scheduler has selected for a claim; "": none.
func SelectedNode(claim *corev1.PersistentVolumeClaim) string {
	return claim.Annotations[storagehelpers.AnnSelectedNode]
}

// Wanted reports whether a claim in a class waits for a volume from the class's provisioner.
// The binder names the provisioner in an annotation of the claim. If the class delays binding,
// the scheduler must have selected a node.
func Wanted(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) bool {
	return claim.Spec.VolumeName == "" && claim.DeletionTimestamp == nil && Serves(class) &&
		claim.Annotations[storagehelpers.AnnStorageProvisioner] == class.Provisioner &&
		(!IsDelayed(class) || SelectedNode(claim) != "")
}

// VolumeName returns the name of the volume for a claim, as upstream's provisioners choose it.
func VolumeName(claim types.UID) string { return "pvc-" + string(claim) }

// Limit returns the capacity of a class; nil: it is unlimited.
func Limit(class *storagev1.StorageClass) (*resource.Quantity, error) {
	text, ok := class.Parameters[CapacityParameter]
	if !ok {
		return nil, nil
	}
	limit, err := quantity.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the parameter %s of StorageClass %s is %q, which is no quantity: %w", CapacityParameter, class.Name, text, err)
	}
	return &limit, nil
}

// Fits returns an error if a class has not enough capacity left for a claim. volumes are all
// volumes; volumes of other classes do not count.
func Fits(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, volumes []*corev1.PersistentVolume) error {
	limit, err := Limit(class)
	if err != nil || limit == nil {
		return err
	}
	left := limit.DeepCopy()
	for _, volume := range volumes {
		if storagehelpers.GetPersistentVolumeClass(volume) == class.Name {
			left.Sub(volume.Spec.Capacity[corev1.ResourceStorage])
		}
	}
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if size.Cmp(left) > 0 {
		return fmt.Errorf("not enough capacity: %s of %s are left, and the claim requests %s", left.String(), limit.String(), size.String())
	}
	return nil
}

// Volume returns the volume for a claim. node is the selected node of the claim; nil: none.
func Volume(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, node *corev1.Node) (*corev1.PersistentVolume, error) {
	affinity, err := topology(class, node)
	if err != nil {
		return nil, err
	}
	policy := corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		policy = *class.ReclaimPolicy
	}
	name := VolumeName(claim.UID)
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{storagehelpers.AnnDynamicallyProvisioned: class.Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes: claim.Spec.AccessModes, VolumeMode: claim.Spec.VolumeMode, MountOptions: class.MountOptions,
			StorageClassName: class.Name, VolumeAttributesClassName: claim.Spec.VolumeAttributesClassName,
			PersistentVolumeReclaimPolicy: policy, NodeAffinity: affinity,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: Driver, VolumeHandle: name}},
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion,
			},
		},
	}, nil
}

// Unselected returns a claim without its selected node: the scheduler tries again, maybe with
// another node.
func Unselected(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	changed := claim.DeepCopy()
	delete(changed.Annotations, storagehelpers.AnnSelectedNode)
	return changed
}

// Deletes reports whether the simulated provisioner deletes a volume: it was provisioned for a
// claim that is gone, and its policy is Delete. class is the volume's class; nil: it does not
// exist any more.
func Deletes(volume *corev1.PersistentVolume, class *storagev1.StorageClass) bool {
	by := volume.Annotations[storagehelpers.AnnDynamicallyProvisioned]
	return volume.Status.Phase == corev1.VolumeReleased && volume.DeletionTimestamp == nil &&
		volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete &&
		(by == Provisioner || by != "" && Serves(class) && class.Provisioner == by)
}
