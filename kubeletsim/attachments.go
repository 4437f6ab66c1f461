package kubeletsim

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/ephemeral"

	"minikcm.dev/minikcm/internal/csivolume"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// attaching makes pods wait for their volumes, and keeps these in use.
type attaching struct {
	*common
	mu      sync.Mutex
	waiting map[string]map[types.UID][]corev1.UniqueVolumeName
}

// await makes ready return the pod once its node has the volumes.
func (a *attaching) await(node string, pod types.UID, volumes []corev1.UniqueVolumeName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[string]map[types.UID][]corev1.UniqueVolumeName{}
	}
	if a.waiting[node] == nil {
		a.waiting[node] = map[types.UID][]corev1.UniqueVolumeName{}
	}
	a.waiting[node][pod] = volumes
}

func (a *attaching) forget(node string, pod types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting[node], pod)
	if len(a.waiting[node]) == 0 {
		delete(a.waiting, node)
	}
}

// ready returns the pods that wait for nothing more on a node.
func (a *attaching) ready(node *corev1.Node) []types.UID {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting[node.Name]) == 0 {
		return nil
	}
	var ready []types.UID
	mountable := mountableOn(node)
	for pod, volumes := range a.waiting[node.Name] {
		if !slices.ContainsFunc(volumes, func(v corev1.UniqueVolumeName) bool { return !mountable[v] }) {
			ready = append(ready, pod)
		}
	}
	slices.Sort(ready)
	return ready
}

// mountableOn returns the volumes that a kubelet may mount: its Node has them in use, so that they
// are not detached any more, and reports them as attached. Both must be true of one state of the
// Node.
func mountableOn(node *corev1.Node) map[corev1.UniqueVolumeName]bool {
	attached, both := map[corev1.UniqueVolumeName]bool{}, map[corev1.UniqueVolumeName]bool{}
	for _, volume := range node.Status.VolumesAttached {
		attached[volume.Name] = true
	}
	for _, volume := range node.Status.VolumesInUse {
		both[volume] = attached[volume]
	}
	return both
}

// attachable is an attachable volume of a pod; in is the volume's name in the pod.
type attachable struct {
	in   string
	name corev1.UniqueVolumeName
}

// sync puts the attachable volumes of a pod in use on its node, and returns the pod's missing
// needs while one of them is not attached.
func (a *attaching) sync(ctx context.Context, n *nodes.Node, e *podEntry, pod *corev1.Pod) ([]lifecycle.Need, error) {
	if e.state.Ended || e.released || lifecycle.Finished(pod) || pod.DeletionTimestamp != nil && !e.state.Sandbox {
		return nil, nil
	}
	if err := a.use(ctx, n, e, pod); err != nil || len(e.volumes) == 0 || e.state.Sandbox {
		return nil, err
	}
	all := make([]corev1.UniqueVolumeName, len(e.volumes))
	for i, volume := range e.volumes {
		all[i] = volume.name
	}
	// This precedes the look at the Node, so that no change of it is missed.
	a.await(n.Name, pod.UID, all)
	object, err := a.nodeLister.Get(n.Name)
	if err != nil {
		object = &corev1.Node{} // the informer is behind
	}
	mountable := mountableOn(object)
	var missing []string
	for _, volume := range e.volumes {
		if !mountable[volume.name] {
			missing = append(missing, volume.in)
		}
	}
	if len(missing) > 0 {
		return []lifecycle.Need{lifecycle.NotAttached(missing)}, nil
	}
	a.forget(n.Name, pod.UID)
	return nil, nil
}

// use finds out which volumes of the pod are attachable, as soon as their claims are bound.
func (a *attaching) use(ctx context.Context, n *nodes.Node, e *podEntry, pod *corev1.Pod) error {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		claim := claimName(pod, volume)
		if claim == "" || e.resolved[volume.Name] {
			continue
		}
		name, known, err := a.attachableName(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: claim})
		if err != nil {
			return fmt.Errorf("looking for the volume of claim %s/%s: %w", pod.Namespace, claim, err)
		}
		if !known {
			continue
		}
		if e.resolved == nil {
			e.resolved = map[string]bool{}
		}
		e.resolved[volume.Name] = true
		if name == "" {
			continue
		}
		e.volumes = append(e.volumes, attachable{volume.Name, name})
		if n.UseVolume(pod.UID, name) {
			a.loop.Add(nodeKey(n.Name))
		}
	}
	return nil
}

// claimName returns the name of the claim of a volume; "": it has none.
func claimName(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return ephemeral.VolumeClaimName(pod, volume)
	}
	return ""
}

// attachableName returns the name of the volume of a claim if it has to be attached, and whether
// that is known: it is not before the claim is bound.
func (a *attaching) attachableName(ctx context.Context, key types.NamespacedName) (name corev1.UniqueVolumeName, known bool, err error) {
	claim, err := a.opts.Client.CoreV1().PersistentVolumeClaims(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || isNotOurs(err) {
		return "", false, nil
	}
	if err != nil || claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName == "" {
		return "", false, err
	}
	volume, err := a.opts.Client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", true, nil
	}
	if err != nil || volume.Spec.CSI == nil {
		return "", err == nil, err
	}
	driver, err := a.opts.Client.StorageV1().CSIDrivers().Get(ctx, volume.Spec.CSI.Driver, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		driver = nil
	case err != nil:
		return "", false, err
	}
	if !csivolume.RequiresAttach(driver) {
		return "", true, nil
	}
	return csivolume.UniqueName(volume.Spec.CSI), true, nil
}

// observe queues the pods that waited for volumes which a Node reports as attached now.
func (a *attaching) observe(node *corev1.Node) {
	for _, pod := range a.ready(node) {
		a.loop.Add(podKey(string(pod)))
	}
}

// release takes a pod's volumes out of use. A node that cannot act on its pods keeps them
// until releaseLost.
func (a *attaching) release(n *nodes.Node, pod types.UID) {
	if n.Active() && n.ReleaseVolumes(pod) {
		a.loop.Add(nodeKey(n.Name))
	}
}

// releaseLost takes the volumes of deleted pods out of use on a node that can act again.
//
//	forgetPod                the node
//	removes the pod
//	the node cannot act
//	                         can act again: releaseLost does not find the pod
func (a *attaching) releaseLost(n *nodes.Node) {
	for _, pod := range n.PodsWithVolumes() {
		if a.pods.get(pod) == nil {
			a.release(n, pod)
		}
	}
}
