package selinuxwarning

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/selinuxwarning/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "selinux-warning-controller"

// eventSource is the component of the events, as upstream.
const eventSource = "selinux_warning"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, DisabledByDefault: true, Account: "selinux-warning-controller",
		About:   "warns of pods that use a volume with different SELinux labels",
		Watches: []string{"pods", "persistentvolumeclaims", "persistentvolumes", "csidrivers"}, Writes: []string{"events"},
		Docs:  "tasks/configure-pod-container/security-context/#selinux-warning-controller",
		Build: build,
	}
}

// Controller reports conflicts. Its keys are pods.
type Controller struct {
	pods    corelisters.PodLister
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	drivers storagelisters.CSIDriverLister
	events  record.EventRecorder

	mu    sync.Mutex
	users *decide.Users
}

func build(p *controller.Parts) error {
	drivers := p.Informers.CSIDrivers()
	c := &Controller{
		pods: p.Informers.Pods().Lister(), claims: p.Informers.PersistentVolumeClaims().Lister(), volumes: p.Informers.PersistentVolumes().Lister(), drivers: drivers.Lister(),
		events: p.Recorder.For(eventSource), users: decide.NewUsers(),
	}
	l := p.Loop(c)
	l.Watch(p.Informers.Pods().Informer(), wakeForPod)
	l.Watch(p.Informers.PersistentVolumeClaims().Informer(), c.wakeForClaim)
	l.Watch(p.Informers.PersistentVolumes().Informer(), c.wakeForVolume)
	l.Watch(drivers.Informer(), c.wakeForDriver)
	return nil
}

// wakeForPod enqueues pods that are new, gone or have ended: the fields of a pod that its uses
// depend on do not change.
func wakeForPod(ev loop.Event) []types.NamespacedName {
	before, ok := ev.Old.(*corev1.Pod)
	now, same := ev.Object.(*corev1.Pod)
	if ok && same && ev.Type == loop.Updated && before.UID == now.UID && controllerref.Ended(before) == controllerref.Ended(now) {
		return nil
	}
	return loop.Self(ev)
}

// wakeForClaim enqueues the pods of a claim that has been bound.
func (c *Controller) wakeForClaim(ev loop.Event) []types.NamespacedName {
	claim, ok := ev.Object.(*corev1.PersistentVolumeClaim)
	before, updated := ev.Old.(*corev1.PersistentVolumeClaim)
	if !ok || ev.Type == loop.Deleted || claim.Spec.VolumeName == "" || updated && before.Spec.VolumeName == claim.Spec.VolumeName {
		return nil
	}
	return c.podsOf(claim.Namespace, claim.Name)
}

// wakeForVolume enqueues the pods of a volume that has been bound.
func (c *Controller) wakeForVolume(ev loop.Event) []types.NamespacedName {
	volume, ok := ev.Object.(*corev1.PersistentVolume)
	if !ok || ev.Type == loop.Deleted || volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID == "" {
		return nil
	}
	if before, ok := ev.Old.(*corev1.PersistentVolume); ok && before.Spec.ClaimRef != nil && before.Spec.ClaimRef.UID == volume.Spec.ClaimRef.UID {
		return nil
	}
	return c.podsOf(volume.Spec.ClaimRef.Namespace, volume.Spec.ClaimRef.Name)
}

// wakeForDriver enqueues all pods with claims when a driver begins or ceases to mount with labels.
func (c *Controller) wakeForDriver(ev loop.Event) []types.NamespacedName {
	driver, ok := ev.Object.(*storagev1.CSIDriver)
	if before, updated := ev.Old.(*storagev1.CSIDriver); !ok || updated && mountsLabels(before) == mountsLabels(driver) {
		return nil
	}
	return c.podsWith(corev1.NamespaceAll, func(claims []string) bool { return len(claims) > 0 })
}

func (c *Controller) podsOf(namespace, claim string) []types.NamespacedName {
	return c.podsWith(namespace, func(claims []string) bool { return slices.Contains(claims, claim) })
}

func (c *Controller) podsWith(namespace string, has func(claims []string) bool) []types.NamespacedName {
	return loop.KeysOf(c.pods.Pods(namespace).List, func(pod *corev1.Pod) bool { return has(decide.Claims(pod)) })
}

func mountsLabels(driver *storagev1.CSIDriver) bool {
	return driver.Spec.SELinuxMount != nil && *driver.Spec.SELinuxMount
}

// Reconcile records how a pod uses volumes, and reports new conflicts with other pods.
func (c *Controller) Reconcile(_ context.Context, key types.NamespacedName) (loop.Result, error) {
	pod, err := c.pods.Pods(key.Namespace).Get(key.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("getting pod %s: %w", key, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || controllerref.Ended(pod) {
		c.users.Remove(key)
		return loop.Result{}, nil
	}
	uses, mixed := decide.Uses(pod, decide.Cluster{
		VolumeOf:     func(claim string) *corev1.PersistentVolume { return c.volumeOf(pod.Namespace, claim) },
		MountsLabels: c.mountsLabels,
	})
	for _, name := range mixed {
		c.events.Eventf(pod, corev1.EventTypeWarning, "MultipleSELinuxLabels", "Volume %q is mounted twice with different SELinux labels inside this pod", name)
	}
	for _, conflict := range c.users.Set(key, uses) {
		// A conflict with a pod that is gone is over.
		if pod, err := c.pods.Pods(conflict.Pod.Namespace).Get(conflict.Pod.Name); err == nil {
			c.events.Event(pod, corev1.EventTypeNormal, conflict.Reason(), conflict.Message())
		}
	}
	return loop.Result{}, nil
}

// volumeOf returns the volume that a claim is bound to, or nil.
func (c *Controller) volumeOf(namespace, name string) *corev1.PersistentVolume {
	claim, err := c.claims.PersistentVolumeClaims(namespace).Get(name)
	if err != nil || claim.Spec.VolumeName == "" {
		return nil
	}
	volume, err := c.volumes.Get(claim.Spec.VolumeName)
	if err != nil || volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID != claim.UID {
		return nil
	}
	return volume
}

func (c *Controller) mountsLabels(name string) bool {
	driver, err := c.drivers.Get(name)
	return err == nil && mountsLabels(driver)
}
