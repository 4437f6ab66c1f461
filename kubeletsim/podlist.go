package kubeletsim

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// expectList comes before a list of all pods that takeList gets. Lists must not overlap.
func (t *podTable) expectList() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost = map[types.UID]bool{}
}

// takeList makes the table use no older state of a pod than a list from the API has, although the
// informer may be behind, and returns the pods that were older: the informer's event for them is
// no news any more, so the caller has to queue them. A pod whose deletion the informer delivered
// since expectList is left out, because nothing would remove it again.
func (t *podTable) takeList(pods []corev1.Pod) (changed []*corev1.Pod) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range pods {
		pod := &pods[i]
		if pod.Spec.NodeName == "" || t.lost[pod.UID] {
			continue
		}
		if e := t.byUID[pod.UID]; e == nil {
			t.addLocked(pod)
		} else if !e.observe(pod) {
			continue
		}
		changed = append(changed, pod)
	}
	t.lost = nil
	return changed
}

// addLocked adds a pod that the table does not have.
func (t *podTable) addLocked(pod *corev1.Pod) {
	e := t.newEntry(pod)
	t.byUID[pod.UID] = e
	if t.byNode[e.node] == nil {
		t.byNode[e.node] = map[types.UID]bool{}
	}
	t.byNode[e.node][pod.UID] = true
}

// renew replaces a pod's entry with one whose runtime is unknown.
func (t *podTable) renew(e *podEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pod, gone, _ := e.look()
	if t.byUID[pod.UID] == e {
		renewed := t.newEntry(pod)
		renewed.gone = gone
		t.byUID[pod.UID] = renewed
	}
}

// loseListed handles the deletion of a pod that a list had and the informer never delivered.
func (k *podWorker) loseListed(pod *corev1.Pod, err error) {
	if k.shards != nil && apierrors.IsNotFound(err) {
		k.losePod(pod)
	}
}
