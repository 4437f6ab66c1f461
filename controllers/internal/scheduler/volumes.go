package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
	"minikcm.dev/minikcm/controllers/internal/volumeindex"
)

// volumes tracks the pods that have a node and wait for their volumes. Until their claims are bound
// it reserves the volumes that were chosen for them, so that two pods never choose the same volume:
//
//	decision on pod a       chooses volume v for its claim, reserves it
//	decision on pod b       the cache still shows v without a claim: the reservation excludes it
//	task of pod a           writes the claim into v
type volumes struct {
	claims  volumeindex.Claims
	volumes volumeindex.Volumes
	classes storagelisters.StorageClassLister
	node    func(name string) *framework.NodeInfo
	storage storageListers
	// attachments indexes the VolumeAttachments of all volumes.
	attachments volumeindex.Attachments

	mu       sync.Mutex
	byPod    map[types.UID]*volumeWait
	byClaim  map[types.NamespacedName]map[types.UID]*volumeWait
	reserved map[string]types.UID
}

// volumeWait is a pod with a node whose claims are not all bound.
type volumeWait struct {
	attempt *queue.Attempt
	node    string
	plan    plugins.VolumePlan
	// written are the versions of the claims and volumes that were written; older ones in the
	// caches prove nothing. Volumes have no namespace.
	written map[types.NamespacedName]uint64
	// parked is set if the queue has the pod.
	parked bool
}

func newVolumes(kinds informers.Kinds, node func(name string) *framework.NodeInfo) (*volumes, error) {
	v := &volumes{
		classes: kinds.StorageClasses().Lister(), node: node, storage: newStorageListers(kinds),
		byPod: map[types.UID]*volumeWait{}, byClaim: map[types.NamespacedName]map[types.UID]*volumeWait{}, reserved: map[string]types.UID{},
	}
	var err error
	if v.claims, err = volumeindex.NewClaims(kinds.PersistentVolumeClaims().Informer().GetIndexer()); err != nil {
		return nil, err
	}
	if v.volumes, err = volumeindex.NewVolumes(kinds.PersistentVolumes().Informer().GetIndexer()); err != nil {
		return nil, err
	}
	v.attachments, err = volumeindex.NewAttachments(kinds.VolumeAttachments().Informer().GetIndexer())
	return v, err
}

// input returns the volume inputs of the decision on a pod; nil: the pod uses no claims.
func (v *volumes) input(p *framework.PodInfo) *plugins.Volumes {
	if len(p.Claims) == 0 {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	in := &plugins.Volumes{}
	for _, used := range p.Claims {
		c := plugins.Claim{PodClaim: used, Object: v.claimLocked(types.NamespacedName{Namespace: p.Pod.Namespace, Name: used.Name})}
		if c.Object != nil {
			c.Volume = v.volumes.Get(c.Object.Spec.VolumeName)
			c.Class, _ = v.classes.Get(storagehelpers.GetPersistentVolumeClaimClass(c.Object)) // nil if it does not exist
		}
		in.Claims = append(in.Claims, c)
	}
	in.Required, in.Installed = v.required(p), v.storage.installed
	in.Limits, in.CSI, in.Capacities, in.Attached = v.storage.limits, v.csi, v.storage.published, v.attached
	in.Free = func(class string) []*corev1.PersistentVolume { return v.free(p, class) }
	return in
}

// claimLocked returns a claim, with the node that a decision on another pod has selected.
func (v *volumes) claimLocked(key types.NamespacedName) *corev1.PersistentVolumeClaim {
	claim := v.claims.Get(key)
	if claim == nil || metav1.HasAnnotation(claim.ObjectMeta, storagehelpers.AnnSelectedNode) {
		return claim
	}
	for _, w := range v.byClaim[key] {
		if slices.ContainsFunc(w.plan.Provision, func(c *corev1.PersistentVolumeClaim) bool { return c.UID == claim.UID }) {
			claim = claim.DeepCopy()
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, storagehelpers.AnnSelectedNode, w.node)
			return claim
		}
	}
	return claim
}

// free returns the volumes of a class that the claims of a pod may be bound to.
func (v *volumes) free(p *framework.PodInfo, class string) []*corev1.PersistentVolume {
	found := v.volumes.Free(class)
	for _, used := range p.Claims {
		found = append(found, v.volumes.For(types.NamespacedName{Namespace: p.Pod.Namespace, Name: used.Name})...)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	found = slices.DeleteFunc(found, func(volume *corev1.PersistentVolume) bool {
		by, reserved := v.reserved[volume.Name]
		return reserved && by != p.Pod.UID || storagehelpers.GetPersistentVolumeClass(volume) != class
	})
	slices.SortFunc(found, func(a, b *corev1.PersistentVolume) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// reserve records the plan of a pod for which a node was chosen.
func (v *volumes) reserve(a *queue.Attempt, node string, plan plugins.VolumePlan) *volumeWait {
	w := &volumeWait{attempt: a, node: node, plan: plan, written: map[types.NamespacedName]uint64{}}
	v.mu.Lock()
	defer v.mu.Unlock()
	uid := a.Info.Pod.UID
	v.byPod[uid] = w
	for _, b := range plan.Bind {
		v.reserved[b.Volume.Name] = uid
	}
	for key := range w.claims() {
		if v.byClaim[key] == nil {
			v.byClaim[key] = map[types.UID]*volumeWait{}
		}
		v.byClaim[key][uid] = w
	}
	return w
}

// claims are the keys of the claims of the plan.
func (w *volumeWait) claims() map[types.NamespacedName]bool {
	keys := map[types.NamespacedName]bool{}
	for _, b := range w.plan.Bind {
		keys[keyOf(b.Claim)] = true
	}
	for _, claim := range w.plan.Provision {
		keys[keyOf(claim)] = true
	}
	return keys
}

// get returns the wait of a pod; nil: it does not wait for volumes.
func (v *volumes) get(uid types.UID) *volumeWait {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.byPod[uid]
}

// forget removes the wait and the reservations of a pod.
func (v *volumes) forget(uid types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := v.byPod[uid]
	if w == nil {
		return
	}
	delete(v.byPod, uid)
	for _, b := range w.plan.Bind {
		delete(v.reserved, b.Volume.Name)
	}
	for key := range w.claims() {
		delete(v.byClaim[key], uid)
		if len(v.byClaim[key]) == 0 {
			delete(v.byClaim, key)
		}
	}
}

// park calls put unless the claims of a pod are bound or their binding has failed: then it
// returns that. The lock makes the check and the parking one step: an event of a claim comes
// before both or after both.
func (v *volumes) park(w *volumeWait, put func()) (bound bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if bound, err = v.check(w); bound || err != nil {
		return bound, err
	}
	w.parked = true
	put()
	return false, nil
}

// status reports whether the claims of a pod are bound, or why they will not be.
func (v *volumes) status(w *volumeWait) (bound bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.check(w)
}

// changed returns the parked pods whose wait a change of a claim, or of its volume, has ended.
func (v *volumes) changed(claim types.NamespacedName) []types.UID {
	v.mu.Lock()
	defer v.mu.Unlock()
	var ended []types.UID
	for uid, w := range v.byClaim[claim] {
		if !w.parked {
			continue
		}
		if bound, err := v.check(w); bound || err != nil {
			w.parked = false
			ended = append(ended, uid)
		}
	}
	slices.Sort(ended)
	return ended
}

// check reports whether all claims of a plan are bound, or why they will not be.
func (v *volumes) check(w *volumeWait) (bound bool, err error) {
	node := v.node(w.node)
	if node == nil {
		return false, fmt.Errorf("failed to get node %q: node %q not found", w.node, w.node)
	}
	bound = true
	for _, b := range w.plan.Bind {
		volume, claim := v.volumes.Get(b.Volume.Name), v.claims.Get(keyOf(b.Claim))
		switch {
		case volume == nil || claim == nil:
			return false, errors.New("failed to check binding: the volume or its claim does not exist any more")
		case w.isOld(volume):
			bound = false
		case volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID == "":
			return false, fmt.Errorf("ClaimRef got reset for pv %q", volume.Name)
		}
		bound = bound && plugins.Bound(claim)
	}
	for _, planned := range w.plan.Provision {
		claim := v.claims.Get(keyOf(planned))
		switch {
		case claim == nil:
			return false, fmt.Errorf("failed to check provisioning pvc: could not find object %q", keyOf(planned))
		case w.isOld(claim):
			bound = false
			continue
		case claim.Annotations[storagehelpers.AnnSelectedNode] != w.node:
			return false, fmt.Errorf("provisioning failed for PVC %q", claim.Name)
		}
		if volume := v.volumes.Get(claim.Spec.VolumeName); volume != nil {
			if err := storagehelpers.CheckNodeAffinity(volume, node.Node.Labels); err != nil {
				return false, fmt.Errorf("pv %q node affinity doesn't match node %q: %w", volume.Name, w.node, err)
			}
		}
		bound = bound && plugins.Bound(claim)
	}
	return bound, nil
}

// isOld reports whether o, from a cache, is older than the written version.
func (w *volumeWait) isOld(o metav1.Object) bool { return versionOf(o) < w.written[keyOf(o)] }

func keyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// versionOf returns an object's resourceVersion, which is a decimal number (KEP-5504).
func versionOf(o metav1.Object) uint64 {
	version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return version
}
