package kubeletsim

import (
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/usage"
	"minikcm.dev/minikcm/kubeletsim/internal/eviction"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// update queues the node of a pod for a look at its resources if the pod's use of them may have
// changed. That costs nothing on a node where no pod declares its usage.
func (k *pressure) update(n *nodes.Node, e *podEntry, pod *corev1.Pod) {
	model := k.model()
	declares := (len(pod.Annotations) > 0 || model.Rules != nil) && model.DeclaresDemand(pod)
	stores := k.watchFiles(n, e, pod)
	if !declares && !stores && !n.Demands() {
		return
	}
	runs := e.state.Runs(podspec.RuntimeUID(pod))
	news := n.SetStoring(pod.UID, stores && len(runs) > 0)
	weight := k.digestOfDemand(pod, runs)
	if weight == e.usageDigest && !news {
		return
	}
	e.usageDigest = weight
	n.SetDemanding(pod.UID, declares && len(runs) > 0)
	k.loop.Add(pressureKey(n.Name))
}

// watchFiles reports whether a pod has stored files and has limits for that. From the first call on,
// the node of such a pod is queued when its files change: as often as the node looks at them.
func (k *pressure) watchFiles(n *nodes.Node, e *podEntry, pod *corev1.Pod) (stores bool) {
	if !eviction.LimitsStorage(pod) {
		return false
	}
	if !e.watched {
		e.watched = true
		uid, name := pod.UID, n.Name
		e.files.Watch(func() {
			e.stores.Store(true)
			if n := k.nodes.Get(name); n != nil {
				n.SetStoring(uid, true)
				k.loop.Add(pressureKey(name))
			}
		})
	}
	return e.stores.Load()
}

// digestOfDemand hashes the inputs of a pod's usage; 0 if nothing runs.
func (k *pressure) digestOfDemand(pod *corev1.Pod, runs []lifecycle.Run) uint64 {
	if len(runs) == 0 {
		return 0
	}
	h := fnv.New64a()
	for _, run := range runs {
		_, _ = fmt.Fprintln(h, run.ID, run.Since.UnixNano())
	}
	var demands []string
	for key, value := range pod.Annotations {
		if strings.HasPrefix(key, usage.AnnotationMemory) || strings.HasPrefix(key, usage.AnnotationEphemeralStorage) || strings.HasPrefix(key, usage.AnnotationPIDs) {
			demands = append(demands, key+"="+value)
		}
	}
	slices.Sort(demands)
	_, _ = fmt.Fprintln(h, demands, pod.Generation)
	if rules := k.rules.Load(); rules != nil {
		_, _ = fmt.Fprintln(h, rules.generation, k.model().RuledDemand(pod, k.opts.Clock.Now()))
	}
	return h.Sum64()
}

// sync does the due actions on a node that may run short of a resource, and sets the time of the
// next ones (package eviction).
func (k *pressure) sync(key key) {
	n := k.nodes.Get(key.id)
	if n == nil || !n.Active() {
		k.due.Set(key, time.Time{})
		return
	}
	now := k.opts.Clock.Now()
	k.configure(n)
	if boots := n.BootCount(); boots != n.Boots {
		n.Boots, n.State, n.Plan, n.CollectionFailed = boots, eviction.State{}, eviction.Plan{}, false
	}
	view := k.on(n)
	for k.killForMemory(n, &view, now) {
	}
	if n.Plan.Collect && !now.Before(n.Plan.At) {
		k.collectImages(n, &view, now)
	}
	if n.Plan.Look && !now.Before(n.Plan.At) {
		var out eviction.Outcome
		n.State, out = eviction.Step(n.Policy, &view, n.State, now)
		k.evict(n, &view, out)
	}
	if n.SetPressures(n.State.Conditions()) {
		k.loop.Add(nodeKey(n.Name))
	}
	n.Plan = eviction.Next(n.Policy, &view, &n.State, now)
	k.due.Set(key, n.Plan.At)
}

// configure reads the node's rules for evictions if they have changed.
func (k *pressure) configure(n *nodes.Node) {
	object, _ := k.nodeLister.Get(n.Name) // nil until the informer has it
	configuration, changed := n.Configure(object)
	if !changed && n.Policy != nil {
		return
	}
	policy, bad := configuration.Policy()
	n.Policy = &policy
	for _, why := range bad {
		k.reportNode(n, []lifecycle.Event{{Kind: corev1.EventTypeWarning, Reason: "InvalidSimulation", Message: why}})
	}
}

// on returns the usage of the pods on a node. If no pod declares its usage, only files count for which pods have
// limits: the default usage of a pod is no reason to evict one.
func (k *pressure) on(n *nodes.Node) eviction.Node {
	view := eviction.Node{Capacity: n.Capacity(), Allocatable: n.Allocatable}
	declared, model := n.Demanding(), k.model()
	if n.ImageBytes() > 0 {
		view.Images = n.Images(k.imagesInUse(n.Name))
	}
	if !declared && !n.Storing() {
		return view
	}
	for _, uid := range k.pods.on(n.Name) {
		if e := k.pods.get(uid); e != nil && (declared || e.stores.Load()) {
			if pod, ok := e.demand(model, declared); ok {
				view.Pods = append(view.Pods, pod)
			}
		}
	}
	return view
}

// demand returns the usage of a pod; false if nothing of it runs. Without declared, only its files
// count. A container that is about to be killed uses nothing.
func (e *podEntry) demand(model usage.Model, declared bool) (eviction.Pod, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return eviction.Pod{}, false
	}
	evicted := e.shown.Evicted()
	killed := map[string]bool{}
	for _, o := range e.occurrences {
		evicted = evicted || o.Kind == lifecycle.Eviction
		if o.Kind == lifecycle.Crash {
			killed[o.Container] = true
		}
	}
	pod := eviction.NewPod(e.pod, evicted)
	for _, run := range e.shown.Runs(podspec.RuntimeUID(e.pod)) {
		if killed[""] || killed[run.Name] {
			continue
		}
		c := containerOf(e.pod, run.Name)
		switch {
		case c == nil:
		case declared:
			pod.Containers = append(pod.Containers, eviction.NewContainer(model, e.pod, c, run.Since))
		default:
			pod.Containers = append(pod.Containers, eviction.NewStoringContainer(c, run.Since))
		}
	}
	if e.stores.Load() {
		written := e.files.Written()
		pod.Store(written.Volumes, written.Containers)
	}
	return pod, len(pod.Containers) > 0
}

func containerOf(pod *corev1.Pod, name string) *corev1.Container {
	for _, ref := range podspec.Containers(pod) {
		if ref.Name == name {
			return ref.Container
		}
	}
	return nil
}

// killForMemory kills a container because the node's memory is exhausted; false if it is not.
func (k *pressure) killForMemory(n *nodes.Node, view *eviction.Node, now time.Time) bool {
	victim, ok := eviction.OutOfMemory(n.Policy, view, now)
	if !ok {
		return false
	}
	i := slices.IndexFunc(view.Pods, func(p eviction.Pod) bool { return p.Object.UID == victim.Pod })
	pod := &view.Pods[i]
	k.reportNode(n, []lifecycle.Event{{
		Kind: corev1.EventTypeWarning, Reason: "SystemOOM",
		Message: fmt.Sprintf("System OOM encountered, victim process: %s, pid: %d", processName(pod.Object, victim.Container), processID(victim)),
	}})
	k.occur(victim.Pod, lifecycle.Occurrence{Container: victim.Container, ExitCode: lifecycle.ExitKilled, Reason: usage.ReasonOOMKilled})
	pod.Containers = slices.DeleteFunc(pod.Containers, func(c eviction.Container) bool { return c.Spec.Name == victim.Container })
	return true
}

// processName returns the name of a container's first process: its program, or the container's
// name if the pod does not set a command.
func processName(pod *corev1.Pod, container string) string {
	if c := containerOf(pod, container); c != nil && len(c.Command) > 0 {
		return path.Base(c.Command[0])
	}
	return container
}

// processID derives the ID of a process on its machine from the names, as all IDs of the simulation
// are.
func processID(v eviction.Victim) uint32 {
	return 1000 + crc32.ChecksumIEEE([]byte(string(v.Pod)+"/"+v.Container))%30000
}

// evict executes the kubelet's decision.
func (k *pressure) evict(n *nodes.Node, view *eviction.Node, out eviction.Outcome) {
	if out.Reclaim != "" {
		k.reportNode(n, []lifecycle.Event{{
			Kind: corev1.EventTypeWarning, Reason: "EvictionThresholdMet", Message: "Attempting to reclaim " + string(out.Reclaim),
		}})
	}
	k.removeImages(n, view, out.Remove)
	for _, e := range out.Evictions {
		k.occur(e.Pod, lifecycle.Occurrence{Kind: lifecycle.Eviction, Reason: eviction.Reason, Message: e.Message, Grace: e.Grace, Disruption: e.Disruption})
		for i := range view.Pods {
			view.Pods[i].Evicted = view.Pods[i].Evicted || view.Pods[i].Object.UID == e.Pod
		}
	}
}
