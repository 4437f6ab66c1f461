package nodeauthorizer

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/podreferences"
)

// kind is a kind of object in the graph.
type kind uint8

const (
	pods kind = iota
	secrets
	configMaps
	serviceAccounts
	volumeClaims
	resourceClaims
	volumes
	attachments
	resourceSlices
	podCertificates
)

// object identifies an object; the namespace of cluster-wide ones is empty.
type object struct {
	kind            kind
	namespace, name string
}

// graph relates objects to nodes. A pod is bound to a node, and relates the objects that it
// refers to with that node. A volume is related with the nodes of its claim, and its Secrets
// with the nodes of the volume. It is not safe for concurrent use.
type graph struct {
	// pods are the bound pods, and refer how many of the pods on a node refer to an object.
	pods  map[object]*boundPod
	refer map[object]map[string]int
	// volumes are the volumes that have a claim, and volumesOf their Secrets.
	volumes   map[string]*claimedVolume
	volumesOf map[object]map[string]bool
	// owned are the objects that name their node themselves.
	owned map[object]string
}

// boundPod is the graph's record of a pod on a node. If a field that can change has changed,
// the references are read again.
type boundPod struct {
	uid        types.UID
	node       string
	ephemeral  int
	claims     []corev1.PodResourceClaimStatus
	extended   string
	references []object
}

type claimedVolume struct {
	claim   object
	secrets []object
}

func newGraph() *graph {
	return &graph{
		pods: map[object]*boundPod{}, refer: map[object]map[string]int{},
		volumes: map[string]*claimedVolume{}, volumesOf: map[object]map[string]bool{}, owned: map[object]string{},
	}
}

// related reports whether a node may read an object.
func (g *graph) related(node string, o object) bool {
	switch o.kind {
	case pods:
		pod := g.pods[o]
		return pod != nil && pod.node == node
	case volumes:
		return g.volumeRelated(node, o.name)
	case attachments, resourceSlices, podCertificates:
		owner, ok := g.owned[o]
		return ok && owner == node
	}
	if g.refer[o][node] > 0 {
		return true
	}
	for volume := range g.volumesOf[o] {
		if g.volumeRelated(node, volume) {
			return true
		}
	}
	return false
}

func (g *graph) volumeRelated(node, name string) bool {
	volume := g.volumes[name]
	return volume != nil && g.refer[volume.claim][node] > 0
}

// setPod adds or changes a pod.
func (g *graph) setPod(pod *corev1.Pod) {
	o := object{pods, pod.Namespace, pod.Name}
	was := g.pods[o]
	if was != nil && was.unchanged(pod) {
		return
	}
	g.dropPod(o)
	if pod.Spec.NodeName == "" {
		return
	}
	bound := &boundPod{
		uid: pod.UID, node: pod.Spec.NodeName, ephemeral: len(pod.Spec.EphemeralContainers),
		claims: pod.Status.ResourceClaimStatuses, extended: extendedClaim(pod),
		references: referencesOf(pod),
	}
	g.pods[o] = bound
	for _, reference := range bound.references {
		on := g.refer[reference]
		if on == nil {
			on = map[string]int{}
			g.refer[reference] = on
		}
		on[bound.node]++
	}
}

// unchanged reports whether the pod has the references that it had: the others are immutable.
func (b *boundPod) unchanged(pod *corev1.Pod) bool {
	return b.uid == pod.UID && b.node == pod.Spec.NodeName && b.ephemeral == len(pod.Spec.EphemeralContainers) &&
		slices.EqualFunc(b.claims, pod.Status.ResourceClaimStatuses, func(a, b corev1.PodResourceClaimStatus) bool {
			return a.Name == b.Name && ptr.Equal(a.ResourceClaimName, b.ResourceClaimName)
		}) &&
		b.extended == extendedClaim(pod)
}

// extendedClaim returns the name of the ResourceClaim of a pod's extended resources.
func extendedClaim(pod *corev1.Pod) string {
	if status := pod.Status.ExtendedResourceClaimStatus; status != nil {
		return status.ResourceClaimName
	}
	return ""
}

func (g *graph) dropPod(o object) {
	bound := g.pods[o]
	if bound == nil {
		return
	}
	delete(g.pods, o)
	for _, reference := range bound.references {
		on := g.refer[reference]
		if on[bound.node]--; on[bound.node] == 0 {
			delete(on, bound.node)
		}
		if len(on) == 0 {
			delete(g.refer, reference)
		}
	}
}

// referencesOf returns the objects that a pod lets its node read. A mirror pod, which its node
// creates itself, gives it nothing.
func referencesOf(pod *corev1.Pod) []object {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return nil
	}
	var all []object
	add := func(kind kind, names []string) {
		for _, name := range names {
			all = append(all, object{kind, pod.Namespace, name})
		}
	}
	if pod.Spec.ServiceAccountName != "" {
		add(serviceAccounts, []string{pod.Spec.ServiceAccountName})
	}
	add(secrets, podreferences.Secrets(pod))
	add(configMaps, podreferences.ConfigMaps(pod))
	add(volumeClaims, podreferences.VolumeClaims(pod))
	add(resourceClaims, podreferences.ResourceClaims(pod))
	return slices.Clip(all)
}

// setVolume adds or changes a PersistentVolume.
func (g *graph) setVolume(volume *corev1.PersistentVolume) {
	g.dropVolume(volume.Name)
	ref := volume.Spec.ClaimRef
	if ref == nil {
		return
	}
	claimed := &claimedVolume{claim: object{volumeClaims, ref.Namespace, ref.Name}}
	g.volumes[volume.Name] = claimed
	for _, name := range podreferences.VolumeSecrets(volume) {
		secret := object{secrets, name.Namespace, name.Name}
		claimed.secrets = append(claimed.secrets, secret)
		if g.volumesOf[secret] == nil {
			g.volumesOf[secret] = map[string]bool{}
		}
		g.volumesOf[secret][volume.Name] = true
	}
}

func (g *graph) dropVolume(name string) {
	claimed := g.volumes[name]
	if claimed == nil {
		return
	}
	delete(g.volumes, name)
	for _, secret := range claimed.secrets {
		delete(g.volumesOf[secret], name)
		if len(g.volumesOf[secret]) == 0 {
			delete(g.volumesOf, secret)
		}
	}
}

// setOwned records the node that an object names; empty: it names none.
func (g *graph) setOwned(o object, node string) {
	if node == "" {
		delete(g.owned, o)
		return
	}
	g.owned[o] = node
}
