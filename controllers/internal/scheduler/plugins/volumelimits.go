package plugins

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// CSIVolume identifies a volume of a CSI driver.
type CSIVolume struct{ Driver, Handle string }

// useVolumes finds the pod's claims that a single pod may use, and the pods that use them.
func (in *Input) useVolumes() {
	in.exclusive, in.exclusiveUsers = nil, 0
	for i := range in.Volumes.Claims {
		c := &in.Volumes.Claims[i]
		if c.Object == nil || !isExclusive(c.Object) {
			continue
		}
		key := types.NamespacedName{Namespace: c.Object.Namespace, Name: c.Object.Name}
		in.exclusive = append(in.exclusive, key)
		in.exclusiveUsers += in.Snapshot.UsersOf(key)
	}
}

func isExclusive(claim *corev1.PersistentVolumeClaim) bool {
	for _, mode := range claim.Spec.AccessModes {
		if mode == corev1.ReadWriteOncePod {
			return true
		}
	}
	return false
}

// filterRestrictions is VolumeRestrictions: a claim with the access mode ReadWriteOncePod is used by
// no other pod, wherever that is (KEP-2485). A preemption on the node of that pod helps.
func filterRestrictions(in *Input, n *framework.NodeInfo) *rejection {
	users := in.exclusiveUsers
	if actual := in.Snapshot.Get(n.Name()); actual != n {
		users += in.exclusiveOn(n) - in.exclusiveOn(actual)
	}
	if users > 0 {
		return fixed.exclusive
	}
	return nil
}

// exclusiveOn counts how often the pods of a node use the claims that a single pod may use.
func (in *Input) exclusiveOn(n *framework.NodeInfo) int32 {
	var users int32
	for _, p := range n.Pods {
		for _, claim := range in.exclusive {
			if p.Uses(claim) {
				users++
			}
		}
	}
	return users
}

// filterLimits is NodeVolumeLimits: the CSI drivers of the pod's volumes that ask for it are installed on the node (KEP-5030), and
// the volumes of a driver on a node are at most as many as its CSINode allows. A volume of several pods counts once, and so does one that is attached and not used by a pod
// on the node. As in kube-scheduler, a volume of the pod counts twice if it is attached and no pod uses it.
func filterLimits(in *Input, n *framework.NodeInfo) *rejection {
	for _, driver := range in.Volumes.Required {
		if !in.Volumes.Installed(n.Name(), driver) {
			return &rejection{plugin: NodeVolumeLimits, reasons: []string{fmt.Sprintf(reasonNoDriver, driver)}}
		}
	}
	limits := in.Volumes.Limits(n.Name())
	if len(limits) == 0 {
		return nil
	}
	wanted := map[CSIVolume]bool{}
	in.addCSI(in.Pod, limits, wanted)
	if len(wanted) == 0 {
		return nil
	}
	attached := map[CSIVolume]bool{}
	for _, p := range n.Pods {
		in.addCSI(p, limits, attached)
	}
	used, more := map[string]int32{}, map[string]int32{}
	for volume := range attached {
		used[volume.Driver]++
	}
	for volume := range in.attachedTo(n.Name()) {
		if !attached[volume] {
			used[volume.Driver]++
		}
	}
	for volume := range wanted {
		if !attached[volume] {
			more[volume.Driver]++
		}
	}
	for driver, count := range more {
		if used[driver]+count > limits[driver] {
			return fixed.tooManyVolumes
		}
	}
	return nil
}

// attachedTo returns the volumes that are attached to a node.
func (in *Input) attachedTo(node string) map[CSIVolume]bool {
	if in.Volumes.Attached == nil {
		return nil
	}
	all := map[CSIVolume]bool{}
	for _, volume := range in.Volumes.Attached(node) {
		all[volume] = true
	}
	return all
}

// addCSI adds the volumes of a pod whose drivers have a limit.
func (in *Input) addCSI(p *framework.PodInfo, limits map[string]int32, volumes map[CSIVolume]bool) {
	for _, claim := range p.Claims {
		volume := in.Volumes.CSI(types.NamespacedName{Namespace: p.Pod.Namespace, Name: claim.Name})
		if _, limited := limits[volume.Driver]; limited {
			volumes[volume] = true
		}
	}
}

// capacity reports whether the storage system of a class can create the claim's volume for a node,
// by the CSIStorageCapacities of its driver (KEP-1472), and returns the one that says so; nil: the driver
// does not want them to be compared.
func (v *Volumes) capacity(c *Claim, node *corev1.Node) (*storagev1.CSIStorageCapacity, bool) {
	if v.Capacities == nil {
		return nil, true
	}
	size, asked := c.Object.Spec.Resources.Requests[corev1.ResourceStorage]
	published, checked := v.Capacities(c.Class)
	if !asked || !checked {
		return nil, true
	}
	for _, capacity := range published {
		most := capacity.Capacity
		if capacity.MaximumVolumeSize != nil {
			most = capacity.MaximumVolumeSize
		}
		if most != nil && most.Cmp(size) >= 0 && reaches(capacity, node) {
			return capacity, true
		}
	}
	return nil, false
}

// reaches reports whether a node is in the topology of a capacity; without one, no node is.
func reaches(capacity *storagev1.CSIStorageCapacity, node *corev1.Node) bool {
	if capacity.NodeTopology == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(capacity.NodeTopology)
	return err == nil && selector.Matches(labels.Set(node.Labels))
}
