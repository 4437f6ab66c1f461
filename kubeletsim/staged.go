package kubeletsim

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/internal/stages"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// The kinds whose Stages replace the simulation of this package.
var (
	podKind    = corev1.SchemeGroupVersion.WithKind("Pod")
	nodeKindOf = corev1.SchemeGroupVersion.WithKind("Node")
)

// staging is which Stages there are, and which nodes they have taken over. A pod or a node has
// one writer of its status:
//
//	the kubelets start a pod that no Stage matches    they write its status
//	a Stage matches it, and its delay passes          they still do
//	the Stage plays: TakePod, then its patches        they write no more, even if a sync is under
//	                                                  way: its update conflicts with the patch,
//	                                                  and the retry finds the pod taken
//	a Stage matches a pod before they have started it the sync finds that, and leaves the pod
//	the last Stage for pods is deleted                they take the pod over as it is
type staging struct {
	*common
	attaching *attaching

	set atomic.Pointer[stages.Set]

	mu    sync.Mutex
	taken map[string]bool
}

func (s *staging) has(kind schema.GroupVersionKind) bool { return s.set.Load().Has(kind) }

// hasNode reports whether Stages write the status of a node.
func (s *staging) hasNode(name string) bool {
	if !s.has(nodeKindOf) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[name]
}

func (s *staging) takeNode(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == nil {
		s.taken = map[string]bool{}
	}
	s.taken[name] = true
}

func (s *staging) forgetNode(object *corev1.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, object.Name)
}

// staged is a pod that Stages have taken over. The mutex of its entry guards it.
type staged struct {
	taken bool
	// address is one that a Stage's template took; it is not valid if none did.
	address, second netip.Addr
}

func (e *podEntry) isTaken() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.staged.taken
}

// releaseStaged returns the address that a Stage's template took.
func (e *podEntry) releaseStaged(n *nodes.Node) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.staged.address.IsValid() {
		n.ReleaseAddress(e.staged.address)
		e.staged.address = netip.Addr{}
	}
}

// SetStages makes the pods and nodes that match these Stages theirs. Those that Stages have taken
// return to the simulation when no Stage for their kind is left.
func (s *staging) SetStages(set *stages.Set) {
	s.set.Store(set)
	if !set.Has(nodeKindOf) {
		s.mu.Lock()
		clear(s.taken)
		s.mu.Unlock()
	}
	for _, uid := range s.pods.all() {
		if e := s.pods.get(uid); e != nil && e.isTaken() {
			e.stale.Store(true)
			s.loop.Add(podKey(string(uid)))
		}
	}
}

// Acts reports whether a node is simulated and can act now.
func (s *staging) Acts(node string) bool {
	n := s.nodes.Get(node)
	return n != nil && n.Active() && n.Reachable()
}

// TakePod ends the simulation of a pod.
func (s *staging) TakePod(pod *corev1.Pod) {
	s.pods.observe(pod)
	e := s.pods.get(pod.UID)
	if e == nil {
		return
	}
	e.mu.Lock()
	was := e.staged.taken
	e.staged.taken = true
	e.mu.Unlock()
	if !was {
		e.stale.Store(true)
		s.loop.Add(podKey(string(pod.UID)))
	}
}

// TakeNode ends the updates of a node's status by the simulation, which still renews its lease.
func (s *staging) TakeNode(node string) { s.takeNode(node) }

// NodeAddresses returns the addresses of a node.
func (s *staging) NodeAddresses(node string) []string {
	n := s.nodes.Get(node)
	if n == nil {
		return nil
	}
	return slices.Clone(n.HostIPs())
}

// PodAddresses returns the addresses of a pod. If it has none, it takes one of its node's range.
func (s *staging) PodAddresses(node string, uid types.UID) ([]string, error) {
	e, n := s.pods.get(uid), s.nodes.Get(node)
	if e == nil || n == nil || e.node != node {
		return nil, fmt.Errorf("finding the address of pod %s: it is not on the simulated node %q", uid, node)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case len(e.pod.Status.PodIPs) > 0:
		var all []string
		for _, ip := range e.pod.Status.PodIPs {
			all = append(all, ip.IP)
		}
		return all, nil
	case e.pod.Status.PodIP != "":
		return []string{e.pod.Status.PodIP}, nil
	case e.shown.Address.IsValid():
		return []string{e.shown.Address.String()}, nil
	case !e.staged.address.IsValid():
		e.staged.address, e.staged.second = n.TakeAddress()
	}
	if !e.staged.address.IsValid() {
		return nil, fmt.Errorf("finding an address for pod %s: node %s has none left", klog.KObj(e.pod), node)
	}
	all := []string{e.staged.address.String()}
	if e.staged.second.IsValid() {
		all = append(all, e.staged.second.String())
	}
	return all, nil
}

// claims reports whether a Stage matches an object.
func (s *staging) claims(kind schema.GroupVersionKind, object runtime.Object) bool {
	set := s.set.Load()
	if !set.Has(kind) {
		return false
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return false
	}
	// The runner reports Stages that fail.
	matching, _ := set.Matching(kind, &stages.Object{Content: content}, s.opts.Clock.Now())
	return len(matching) > 0
}

// claimsNode reports whether Stages write the status of a Node that is about to register.
func (s *staging) claimsNode(object *corev1.Node) bool {
	if !s.has(nodeKindOf) {
		return false
	}
	if s.claims(nodeKindOf, object) {
		s.takeNode(object.Name)
	}
	return s.hasNode(object.Name)
}

// isStaged reports, for the pod's worker, whether Stages write the pod's status: they have taken
// it, or one matches it before the simulation has started it.
func (s *staging) isStaged(e *podEntry, pod *corev1.Pod) bool {
	if !s.has(podKind) {
		s.takeBack(e)
		return false
	}
	if e.isTaken() {
		return true
	}
	if e.known || !s.claims(podKind, pod) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.staged.taken = true
	return true
}

// takeBack makes the simulation take a pod over from Stages, as it is.
func (s *staging) takeBack(e *podEntry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.staged.taken {
		return
	}
	e.staged.taken = false
	e.known, e.settled = false, ""
	if address := e.staged.address; address.IsValid() && e.pod.Status.PodIP == address.String() {
		e.staged.address = netip.Addr{} // it is the simulation's from now on
	}
}

// sync does the kubelet's part for a pod that Stages have taken, and reports whether
// they have: it holds the node's resources until the pod has ended, and deletes a terminating pod
// that no Stage matches.
func (s *staging) sync(ctx context.Context, e *podEntry, pod *corev1.Pod, n *nodes.Node) (staged bool, err error) {
	if !s.isStaged(e, pod) {
		return false, nil
	}
	s.due.Set(podKey(string(pod.UID)), time.Time{})
	ended := lifecycle.Finished(pod)
	switch {
	case ended && !e.released:
		e.released = true
		s.release(n, pod)
		s.attaching.release(n, pod.UID)
		e.files.Free()
	case !ended && !e.known && !e.released:
		n.Readmit(pod, netip.Addr{})
	}
	e.settled, e.wake = pod.ResourceVersion, time.Time{}
	if !removable(pod) || s.claims(podKind, pod) {
		return true, nil
	}
	now := int64(0)
	err = ignoreGone(s.opts.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID},
	}))
	if err != nil {
		e.settled = ""
	}
	return true, err
}
