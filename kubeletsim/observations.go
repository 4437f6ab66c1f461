package kubeletsim

import (
	"cmp"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// observations holds what the pods of another cluster showed about themselves and about their
// templates (Options.Observe). A new pod continues what an earlier one of its template did:
//
//	web-a is healthy, web-b crashes      observed when the kubelets begin
//	web-b is evicted, web-c is created   web-c takes the place of web-b, and crashes
//	web-a is evicted, web-d is created   web-d is healthy
//
// A new pod takes the place of one deleted pod that was unhealthy for a reason in its template or image; no
// two pods replace the same one. If no pod of a template was healthy, all further ones are unhealthy as these were.
type observations struct {
	mu sync.Mutex
	// templates have the pods that were observed.
	templates map[template]*observedTemplate
	byPod     map[types.UID]*observedPod
	assumed   []Assumption
}

// template identifies a template of pods: their controller, and its revision.
type template struct {
	owner    types.UID
	revision string
}

type observedTemplate struct {
	// healthy is a healthy pod; nil: there was none.
	healthy   *lifecycle.Observation
	unhealthy []*observedPod
}

// observedPod is a pod that was observed.
type observedPod struct {
	uid             types.UID
	namespace, name string
	node            string
	seen            *lifecycle.Observation
	// terminating means that the pod is being deleted or was; replaced that another took its place.
	terminating, replaced bool
}

// Assumption says that a pod stays unhealthy as it, or the pod that it replaces, was observed to be.
type Assumption struct {
	Pod types.NamespacedName
	// Replaces is the name of the observed pod; empty: the pod itself was observed.
	Replaces string
	// Container is empty if the assumption concerns the pod.
	Container string
	Observed  lifecycle.Observed
	// Stuck means that the pod does not get ready to start its containers.
	Stuck bool
}

func templateOf(pod *corev1.Pod) (template, bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return template{}, false
	}
	return template{owner.UID, cmp.Or(pod.Labels[appsv1.ControllerRevisionHashLabelKey], pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey])}, true
}

// observe records the observation of a pod that has a status when it is first seen.
func (o *observations) observe(pod *corev1.Pod, seen *lifecycle.Observation) {
	if seen == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p := &observedPod{uid: pod.UID, namespace: pod.Namespace, name: pod.Name, node: pod.Spec.NodeName, seen: seen, terminating: pod.DeletionTimestamp != nil}
	if o.byPod == nil {
		o.byPod, o.templates = map[types.UID]*observedPod{}, map[template]*observedTemplate{}
	}
	o.byPod[pod.UID] = p
	if seen.Unhealthy() {
		o.assumeLocked(pod, "", seen)
	}
	key, controlled := templateOf(pod)
	if !controlled {
		return
	}
	t := o.templates[key]
	if t == nil {
		t = &observedTemplate{}
		o.templates[key] = t
	}
	switch {
	case seen.Unhealthy():
		t.unhealthy = append(t.unhealthy, p)
	case t.healthy == nil && len(seen.Containers) > 0:
		t.healthy = seen
	}
}

// leave records that an observed pod is being deleted, or was.
func (o *observations) leave(uid types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.byPod[uid]; p != nil {
		p.terminating = true
	}
}

// of returns the observation of a pod, or the assumed one of a new pod; nil: there is none.
func (o *observations) of(pod *corev1.Pod) *lifecycle.Observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.byPod[pod.UID]; p != nil {
		return p.seen
	}
	key, controlled := templateOf(pod)
	t := o.templates[key]
	if !controlled || t == nil {
		return nil
	}
	if before := t.predecessorOf(pod); before != nil {
		before.replaced = true
		seen := before.seen.Inherited()
		o.assumeLocked(pod, before.name, seen)
		return seen
	}
	if t.healthy == nil && len(t.unhealthy) > 1 {
		like := t.unhealthy[0]
		o.assumeLocked(pod, like.name, like.seen)
		return like.seen
	}
	return t.healthy
}

// predecessorOf returns the pod whose place a new one takes, if that pod is unhealthy for a reason in its
// template: the one of the same name, of the same node for pods of DaemonSets, or else the first.
func (t *observedTemplate) predecessorOf(pod *corev1.Pod) *observedPod {
	left := slices.DeleteFunc(slices.Clone(t.unhealthy), func(p *observedPod) bool {
		return !p.terminating || p.replaced || !p.seen.Inherited().Unhealthy()
	})
	owner := metav1.GetControllerOfNoCopy(pod)
	at := slices.IndexFunc(left, func(p *observedPod) bool {
		switch owner.Kind {
		case "StatefulSet":
			return p.name == pod.Name
		case "DaemonSet":
			return p.node == pod.Spec.NodeName
		}
		return true
	})
	if at < 0 {
		return nil
	}
	return left[at]
}

func (o *observations) assumeLocked(pod *corev1.Pod, replaces string, seen *lifecycle.Observation) {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	if seen.Stuck {
		o.assumed = append(o.assumed, Assumption{Pod: name, Replaces: replaces, Stuck: true})
	}
	for container, of := range seen.Containers {
		if of.Unhealthy() {
			o.assumed = append(o.assumed, Assumption{Pod: name, Replaces: replaces, Container: container, Observed: of})
		}
	}
}

// Assumptions returns the assumptions about pods that follow from observations, by pod and container. It is
// empty without Options.Observe.
func (k *podWorker) Assumptions() []Assumption {
	k.observations.mu.Lock()
	defer k.observations.mu.Unlock()
	all := slices.Clone(k.observations.assumed)
	slices.SortFunc(all, func(a, b Assumption) int {
		return cmp.Or(cmp.Compare(a.Pod.Namespace, b.Pod.Namespace), cmp.Compare(a.Pod.Name, b.Pod.Name), cmp.Compare(a.Replaces, b.Replaces), cmp.Compare(a.Container, b.Container))
	})
	return all
}

// Observe is Options.Observe for objects that are loaded into the cluster from now on.
func (k *podWorker) Observe() {
	k.observing.Store(true)
	k.nodes.KeepHealth()
}

// observeHealth records the observation of a pod of another cluster when it is first seen, and that an observed
// pod is being deleted.
func (k *podWorker) observeHealth(pod *corev1.Pod) {
	if !k.observing.Load() {
		return
	}
	e := k.pods.get(pod.UID)
	switch {
	case pod.DeletionTimestamp != nil && e != nil:
		k.observations.leave(pod.UID)
	case e == nil || e.isNew():
		k.observations.observe(pod, lifecycle.Observe(k.images.Annotate(pod), &k.opts.Latencies, k.opts.Clock.Now()))
	}
}

// Timers returns when the kubelets look at pods again without an event, by UID.
func (k *podWorker) Timers() map[types.UID]time.Time {
	pods := map[types.UID]time.Time{}
	for key, due := range k.due.All() {
		if key.kind == ofPod {
			pods[types.UID(key.id)] = due
		}
	}
	for key, retry := range k.loop.pods.Delays() {
		uid := types.UID(key.id)
		pods[uid] = sooner(pods[uid], retry)
	}
	return pods
}

// Reachable reports whether the kubelet of a node reaches the API; false if there is no such node.
func (k *nodeManager) Reachable(node string) bool {
	n := k.nodes.Get(node)
	return n != nil && n.Reachable()
}
