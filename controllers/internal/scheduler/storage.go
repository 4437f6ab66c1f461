package scheduler

import (
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/volumeindex"
)

// storageListers read the objects that CSI drivers publish.
type storageListers struct {
	nodes      cache.Store // of CSINodes
	drivers    storagelisters.CSIDriverLister
	capacities storagelisters.CSIStorageCapacityLister
}

func newStorageListers(kinds informers.Kinds) storageListers {
	return storageListers{kinds.CSINodes().Informer().GetStore(), kinds.CSIDrivers().Lister(), kinds.CSIStorageCapacities().Lister()}
}

// limits returns how many volumes of each driver a node can have; nil: any number.
func (s storageListers) limits(node string) map[string]int32 {
	found, _, _ := s.nodes.GetByKey(node) // a lister would make an error for each node that has none
	csiNode, ok := found.(*storagev1.CSINode)
	if !ok {
		return nil
	}
	var limits map[string]int32
	for i := range csiNode.Spec.Drivers {
		driver := &csiNode.Spec.Drivers[i]
		if driver.Allocatable == nil || driver.Allocatable.Count == nil {
			continue
		}
		if limits == nil {
			limits = map[string]int32{}
		}
		limits[driver.Name] = *driver.Allocatable.Count
	}
	return limits
}

// installed reports whether a node's CSINode has a driver.
func (s storageListers) installed(node, driver string) bool {
	found, _, _ := s.nodes.GetByKey(node) // see limits
	csiNode, ok := found.(*storagev1.CSINode)
	return ok && slices.ContainsFunc(csiNode.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
}

// required returns the drivers of a pod's volumes that keep the pod from nodes where they are not installed.
func (v *volumes) required(p *framework.PodInfo) []string {
	var drivers []string
	for _, used := range p.Claims {
		name := v.csi(types.NamespacedName{Namespace: p.Pod.Namespace, Name: used.Name}).Driver
		if name == "" || slices.Contains(drivers, name) {
			continue
		}
		driver, err := v.storage.drivers.Get(name)
		if err == nil && ptr.Deref(driver.Spec.PreventPodSchedulingIfMissing, false) {
			drivers = append(drivers, name)
		}
	}
	slices.Sort(drivers)
	return drivers
}

// published returns the capacities that the driver of a class publishes for it. checked is false if
// the driver does not want them to be compared.
func (s storageListers) published(class *storagev1.StorageClass) (published []*storagev1.CSIStorageCapacity, checked bool) {
	driver, err := s.drivers.Get(class.Provisioner)
	if err != nil || driver.Spec.StorageCapacity == nil || !*driver.Spec.StorageCapacity {
		return nil, false
	}
	all, err := s.capacities.List(labels.Everything())
	if err != nil {
		return nil, false
	}
	for _, capacity := range all {
		if capacity.StorageClassName == class.Name {
			published = append(published, capacity)
		}
	}
	return published, true
}

// csi returns the volume of a claim. That of a claim without one, or with one that does not exist, is known
// by the claim's key.
func (v *volumes) csi(key types.NamespacedName) plugins.CSIVolume {
	claim := v.claims.Get(key)
	if claim == nil {
		return plugins.CSIVolume{}
	}
	volume := v.volumes.Get(claim.Spec.VolumeName)
	if volume == nil {
		class, err := v.classes.Get(storagehelpers.GetPersistentVolumeClaimClass(claim))
		if err != nil {
			return plugins.CSIVolume{}
		}
		return plugins.CSIVolume{Driver: class.Provisioner, Handle: "claim of " + key.String()}
	}
	if volume.Spec.CSI == nil {
		return plugins.CSIVolume{}
	}
	return plugins.CSIVolume{Driver: volume.Spec.CSI.Driver, Handle: volume.Spec.CSI.VolumeHandle}
}

// attached returns the CSI volumes that VolumeAttachments name for a node.
func (v *volumes) attached(node string) []plugins.CSIVolume {
	var all []plugins.CSIVolume
	for _, a := range v.attachments.On(node) {
		if volume := v.volumes.Get(volumeindex.VolumeOf(a)); volume != nil && volume.Spec.CSI != nil && a.Spec.Attacher != "" {
			all = append(all, plugins.CSIVolume{Driver: a.Spec.Attacher, Handle: volume.Spec.CSI.VolumeHandle})
		}
	}
	return all
}
