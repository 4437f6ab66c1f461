package kubeletsim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/staticpods"
)

// annotationSeen of a mirror pod is when the kubelet has read its manifest.
const annotationSeen = "kubernetes.io/config.seen"

// refusedRetry is the delay before another attempt to create a mirror pod that the API server has
// refused: the period in which upstream's kubelet syncs its pods.
const refusedRetry = time.Minute

// statics are the static pods: their manifests by ConfigMap, and the runtimes of those whose
// mirror pods do not exist at the moment. A client that deletes a mirror pod does not stop the
// containers:
//
//	a client deletes the mirror pod P of hash H   P is terminating; syncPod leaves it as it is
//	syncStatic                                    deletes P with a grace period of 0
//	the deletion of P arrives: forgetPod          keeps the runtime of H
//	syncStatic                                    creates the mirror pod Q of hash H
//	Q arrives: syncPod                            Q takes the runtime over, with its restarts and addresses
type statics struct {
	*common
	mu      sync.Mutex
	folders map[types.NamespacedName]*staticpods.Folder
	// kept are the runtimes, by node and hash.
	kept map[string]map[string]lifecycle.State
}

// update reads a ConfigMap and reports whether it has, or had, static pods.
func (s *statics) update(c *corev1.ConfigMap) (changed bool, err error) {
	name := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	if !staticpods.IsFolder(c) {
		return s.forget(name), nil
	}
	folder, err := staticpods.Parse(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folders == nil {
		s.folders = map[types.NamespacedName]*staticpods.Folder{}
	}
	s.folders[name] = folder
	return true, err
}

func (s *statics) forget(name types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, had := s.folders[name]
	delete(s.folders, name)
	return had
}

// none reports whether there is no folder with static pods.
func (s *statics) none() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.folders) == 0
}

// on returns the mirror pods that a node is to have, in the order of their ConfigMaps.
func (s *statics) on(node *corev1.Node) []*corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*corev1.Pod
	for _, name := range slices.SortedFunc(maps.Keys(s.folders), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }) {
		all = append(all, s.folders[name].On(node)...)
	}
	return all
}

// has reports whether a node has the static pod of a hash.
func (s *statics) has(node *corev1.Node, hash string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, folder := range s.folders {
		if slices.Contains(folder.Hashes(node), hash) {
			return true
		}
	}
	return false
}

// keep keeps the runtime of a static pod for its next mirror pod.
func (s *statics) keep(mirror *corev1.Pod, state lifecycle.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[string]map[string]lifecycle.State{}
	}
	node := mirror.Spec.NodeName
	if s.kept[node] == nil {
		s.kept[node] = map[string]lifecycle.State{}
	}
	s.kept[node][podspec.MirrorHash(mirror)] = state
}

// take returns the runtime that was kept for a mirror pod.
func (s *statics) take(mirror *corev1.Pod) (lifecycle.State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	states := s.kept[mirror.Spec.NodeName]
	state, ok := states[podspec.MirrorHash(mirror)]
	delete(states, podspec.MirrorHash(mirror))
	return state, ok
}

// drop returns the runtimes that were kept on a node for other static pods than those wanted.
func (s *statics) drop(node string, wanted []*corev1.Pod) []lifecycle.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	var dropped []lifecycle.State
	for _, hash := range slices.Sorted(maps.Keys(s.kept[node])) {
		if !slices.ContainsFunc(wanted, func(w *corev1.Pod) bool { return podspec.MirrorHash(w) == hash }) {
			dropped = append(dropped, s.kept[node][hash])
			delete(s.kept[node], hash)
		}
	}
	return dropped
}

// observe queues all nodes when the static pods of a ConfigMap may have changed.
func (s *statics) observe(c *corev1.ConfigMap) {
	changed, err := s.update(c)
	if err != nil && s.opts.Recorder != nil {
		s.opts.Recorder.WithSource(corev1.EventSource{Component: Component}).Event(c, corev1.EventTypeWarning, "InvalidSimulation", "static pods: "+err.Error())
	}
	if changed {
		s.wake()
	}
}

func (s *statics) lose(c *corev1.ConfigMap) {
	if s.forget(types.NamespacedName{Namespace: c.Namespace, Name: c.Name}) {
		s.wake()
	}
}

func (s *statics) wake() {
	for _, name := range s.nodes.Names() {
		s.loop.Add(staticKey(name))
	}
}

// offerOn queues the static pods of a node, if there are any.
func (s *statics) offerOn(node string) {
	if !s.none() {
		s.loop.Add(staticKey(node))
	}
}

// sync creates and deletes mirror pods, so that each static pod of a node has one.
func (s *statics) sync(unbound context.Context, key key) {
	s.due.Set(key, time.Time{})
	ctx, owned := s.shards.enter(unbound, key.id)
	n := s.nodes.Get(key.id)
	object, err := s.nodeLister.Get(key.id)
	if !owned || n == nil || !n.Active() || err != nil {
		return // the node queues the key when it is back
	}
	wanted := s.on(object)
	for _, state := range s.drop(n.Name, wanted) {
		if state.Address.IsValid() {
			n.ReleaseAddress(state.Address)
		}
	}
	ctx = s.asNode(ctx, n.Name)
	var retry time.Time
	for _, action := range staticpods.Decide(wanted, s.mirrorsOn(n.Name)) {
		err := s.apply(ctx, action)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			retry = sooner(retry, s.opts.Clock.Now().Add(s.fail(n, err)))
		}
	}
	s.due.Set(key, retry)
}

// fail reports that a request about a mirror pod failed, and returns the delay before the
// next attempt.
func (s *statics) fail(n *nodes.Node, err error) time.Duration {
	retry := lastRetry
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		retry = refusedRetry
		s.reportNode(n, []lifecycle.Event{{Kind: corev1.EventTypeWarning, Reason: "InvalidSimulation", Message: "static pods: " + err.Error()}})
	}
	s.opts.Logger.Error(err, "Cannot keep the mirror pods of a node, will retry", "node", klog.KRef("", n.Name), "after", retry)
	return retry
}

func (s *statics) apply(ctx context.Context, action staticpods.Action) error {
	if mirror := action.Create; mirror != nil {
		mirror.Annotations[annotationSeen] = s.opts.Clock.Now().UTC().Format(time.RFC3339Nano)
		_, err := s.opts.Client.CoreV1().Pods(mirror.Namespace).Create(ctx, mirror, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) && s.mirrored(ctx, mirror) {
			return nil // the informer is behind
		}
		if err != nil {
			return fmt.Errorf("creating mirror pod %s: %w", klog.KObj(mirror), err)
		}
		return nil
	}
	pod := action.Delete
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}
	if action.Now {
		opts.GracePeriodSeconds = new(int64)
	}
	err := s.opts.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, opts)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting mirror pod %s: %w", klog.KObj(pod), err)
	}
	return nil
}

// mirrored reports whether the pod that exists mirrors the same static pod.
func (s *statics) mirrored(ctx context.Context, mirror *corev1.Pod) bool {
	existing, err := s.opts.Client.CoreV1().Pods(mirror.Namespace).Get(ctx, mirror.Name, metav1.GetOptions{})
	return err == nil && podspec.MirrorHash(existing) == podspec.MirrorHash(mirror)
}

// mirrorsOn returns the mirror pods that are bound to a node, sorted by UID.
func (s *statics) mirrorsOn(node string) []*corev1.Pod {
	return slices.DeleteFunc(s.podObjects(node), func(pod *corev1.Pod) bool { return !podspec.IsMirror(pod) })
}

// survivesDeletion reports whether the containers of a mirror pod go on when it is deleted: its node
// still has the static pod.
func (s *statics) survivesDeletion(mirror *corev1.Pod) bool {
	if !podspec.IsMirror(mirror) {
		return false
	}
	object, err := s.nodeLister.Get(mirror.Spec.NodeName)
	if err != nil {
		return false
	}
	return s.has(object, podspec.MirrorHash(mirror))
}

// resume gives a new mirror pod the runtime of its static pod, if that is known.
func (s *statics) resume(n *nodes.Node, e *podEntry, pod *corev1.Pod) bool {
	if !podspec.IsMirror(pod) {
		return false
	}
	state, kept := s.take(pod)
	if !kept {
		return false
	}
	e.state = state
	if !state.Ended {
		n.Readmit(pod, state.Address)
	}
	return true
}
