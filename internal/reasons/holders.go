package reasons

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Consumer says which pods hold most of a resource on the nodes that have too little of it for a pod.
type Consumer struct {
	Resource corev1.ResourceName
	// Nodes is how many nodes have too little, Total the amount that they have together, and Wanted
	// the amount that the pod requests.
	Nodes         int
	Total, Wanted resource.Quantity
	// Holders are the largest holders, the largest first, and Others is the sum of all others.
	Holders []Holder
	Others  resource.Quantity
}

// Holder is a controller with pods, or a pod without one.
type Holder struct {
	// Name is KIND/NAME, with the namespace if it is not the waiting pod's.
	Name   string
	Pods   int
	Amount resource.Quantity
}

// maxHolders caps the holders that are named.
const maxHolders = 3

// insufficient is how the scheduler's message names a resource that nodes have too little of.
var insufficient = regexp.MustCompile(`Insufficient ([\w./-]+\w)`)

// AddPod adds a pod, whatever its namespace, that may hold resources of nodes.
func (x *Index) AddPod(pod *corev1.Pod) {
	if pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		x.bound[pod.Spec.NodeName] = append(x.bound[pod.Spec.NodeName], pod)
	}
}

// AddOwner adds an object that may control pods, whatever its namespace, so that its own controller is
// named in its place.
func (x *Index) AddOwner(obj runtime.Object) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	if owner := metav1.GetControllerOfNoCopy(m); owner != nil {
		x.owners[m.GetUID()] = *owner
	}
}

// consumers returns the holders of the resources of which a pod found too little.
func (x *Index) consumers(o *unstructured.Unstructured) []Consumer {
	if o.GetKind() != "Pod" || len(x.bound) == 0 {
		return nil
	}
	message := fieldsOf(o).condition("PodScheduled").text("message")
	var names []corev1.ResourceName
	for _, match := range insufficient.FindAllStringSubmatch(message, -1) {
		if name := corev1.ResourceName(match[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var pod corev1.Pod
	if len(names) == 0 || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &pod) != nil {
		return nil
	}
	requests := requestsOf(&pod)
	var all []Consumer
	for _, name := range names {
		if h := x.held.of(x, &pod, name, requests[name]); h.Nodes > 0 {
			all = append(all, h)
		}
	}
	return all
}

// heldBy keeps the Consumers that were computed: many pods of one controller wait for the same.
type heldBy struct {
	known map[heldKey]Consumer
}

type heldKey struct{ namespace, resource, wanted string }

func (k *heldBy) of(x *Index, pod *corev1.Pod, name corev1.ResourceName, wanted resource.Quantity) Consumer {
	key := heldKey{pod.Namespace, string(name), wanted.String()}
	h, ok := k.known[key]
	if !ok {
		h = x.consumer(pod, name, wanted)
		if k.known == nil {
			k.known = map[heldKey]Consumer{}
		}
		k.known[key] = h
	}
	return h
}

func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
}

// consumer adds up the requests of the pods on the nodes that lack a resource.
func (x *Index) consumer(waiting *corev1.Pod, name corev1.ResourceName, wanted resource.Quantity) Consumer {
	h := Consumer{Resource: name, Wanted: wanted}
	sums := map[types.UID]*Holder{}
	for _, node := range slices.Sorted(maps.Keys(x.nodes)) {
		object, ok := x.nodes[node].came.(*corev1.Node)
		if !ok {
			continue
		}
		has := object.Status.Allocatable[name]
		free := has.DeepCopy()
		for _, pod := range x.bound[node] {
			free.Sub(requestsOf(pod)[name])
		}
		if free.Cmp(wanted) >= 0 {
			continue
		}
		h.Nodes++
		h.Total.Add(has)
		for _, pod := range x.bound[node] {
			if amount := requestsOf(pod)[name]; !amount.IsZero() {
				x.sum(sums, waiting.Namespace, pod, amount)
			}
		}
	}
	holders := slices.SortedFunc(maps.Values(sums), func(a, b *Holder) int {
		return cmp.Or(b.Amount.Cmp(a.Amount), cmp.Compare(a.Name, b.Name))
	})
	for i, holder := range holders {
		if i < maxHolders {
			h.Holders = append(h.Holders, *holder)
		} else {
			h.Others.Add(holder.Amount)
		}
	}
	return h
}

// sum adds the amount that a pod holds to its outermost known controller.
func (x *Index) sum(sums map[types.UID]*Holder, home string, pod *corev1.Pod, amount resource.Quantity) {
	uid, kind, name := pod.UID, "Pod", pod.Name
	owner := metav1.GetControllerOfNoCopy(pod)
	for range maxDepth {
		if owner == nil {
			break
		}
		uid, kind, name = owner.UID, owner.Kind, owner.Name
		above, known := x.owners[owner.UID]
		if !known {
			break
		}
		owner = &above
	}
	holder := sums[uid]
	if holder == nil {
		full := strings.ToLower(kind) + "/" + name
		if pod.Namespace != home {
			full += " in " + pod.Namespace
		}
		holder = &Holder{Name: full}
		sums[uid] = holder
	}
	holder.Pods++
	holder.Amount.Add(amount)
}

// reason names the holders of the resource.
func (h *Consumer) reason() Reason {
	var texts []string
	for i := range h.Holders {
		holder := &h.Holders[i]
		text := fmt.Sprintf("%s holds %s", holder.Name, holder.Amount.String())
		if holder.Pods > 1 {
			text += fmt.Sprintf(" in %d pods", holder.Pods)
		}
		texts = append(texts, text)
	}
	if !h.Others.IsZero() {
		texts = append(texts, "others "+h.Others.String())
	}
	if len(texts) == 0 {
		texts = []string{"no pod holds any"}
	}
	nodes := "1 node has"
	if h.Nodes > 1 {
		nodes = fmt.Sprintf("%d nodes have", h.Nodes)
	}
	return Reason{
		Source:  fmt.Sprintf("it requests %s of %s, and %s too little left", h.Wanted.String(), h.Resource, nodes),
		Message: fmt.Sprintf("of %s, %s", h.Total.String(), strings.Join(texts, ", ")),
	}
}
