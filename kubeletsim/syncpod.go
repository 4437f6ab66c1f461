package kubeletsim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// syncPod takes one step with a pod and writes the result to the API.
func (k *podWorker) syncPod(ctx context.Context, key key) error {
	e := k.pods.get(types.UID(key.id))
	if e == nil {
		return nil
	}
	pod, gone, occurrences := e.look()
	n := k.nodes.Get(pod.Spec.NodeName)
	if gone {
		k.forgetPod(e, pod, n)
		return nil
	}
	if n == nil || !n.Active() {
		k.due.Set(key, time.Time{})
		return nil
	}
	if pod.DeletionTimestamp != nil && k.statics.survivesDeletion(pod) {
		k.due.Set(key, time.Time{})
		k.loop.Add(staticKey(n.Name))
		return nil
	}
	if !e.stale.Swap(false) && e.upToDate(k.opts.Clock.Now()) {
		return nil
	}
	ctx = k.asNode(ctx, n.Name)
	if staged, err := k.staging.sync(ctx, e, pod, n); staged {
		return err
	}
	serving := ctx
	ctx = cause.With(ctx, cause.Of(pod))
	annotated := e.annotated(pod)
	if !e.known {
		e.known = true
		if !k.statics.resume(n, e, pod) {
			e.observed = k.observations.of(pod)
			e.state = lifecycle.Adopt(annotated, e.observed, &k.opts.Latencies, &k.opts.Backoff)
		}
	}
	missing, certified, err := k.gather(ctx, n, e, pod)
	if err != nil {
		e.settled = ""
		return fmt.Errorf("gathering what pod %s needs: %w", klog.KObj(pod), err)
	}
	e.lacking = len(missing) > 0
	in := lifecycle.Input{Pod: annotated, State: e.state, Observed: e.observed, Occurrences: occurrences, Missing: missing}
	if e.state.Admitted.IsZero() && !lifecycle.Finished(pod) {
		object, _ := k.nodeLister.Get(n.Name)
		in.Rejected = n.Admit(pod, object, pod.DeletionTimestamp != nil)
	}
	in.ResizeRejected = k.resize(n, e, pod)
	out := k.step(n, in)
	e.state = out.State
	for _, name := range out.Signals {
		e.files.Signal(name, "TERM")
	}
	e.deferred = e.state.Resize.Pending != ""
	e.show()
	k.pods.stepped()
	k.containers.SyncProcesses(serving, n, e, annotated, &e.state)
	k.containers.RunDue(serving, n, e, annotated, &out)
	e.dropOccurrences(len(occurrences))
	n.AddStarted(startedBy(out.Events))
	k.pressure.update(n, e, pod)
	if n.AddImages(out.Images, k.opts.Clock.Now()) {
		k.loop.Add(pressureKey(n.Name))
	}
	e.forgetAnnotated()
	settled, err := k.syncStatus(ctx, e, pod, n)
	k.report(n, pod, out.Events)
	if ctx.Err() != nil {
		return err
	}
	e.settled, e.wake = settled, sooner(sooner(out.Wake, e.due), certified)
	k.due.Set(key, e.wake)
	return err
}

// startedBy counts the containers that a step has started.
func startedBy(events []lifecycle.Event) int {
	started := 0
	for i := range events {
		if events[i].Reason == "Started" && events[i].FieldPath != "" {
			started++
		}
	}
	return started
}

// gather returns the missing needs of the pod's containers, and when its certificates are due.
func (k *podWorker) gather(ctx context.Context, n *nodes.Node, e *podEntry, pod *corev1.Pod) (missing []lifecycle.Need, certified time.Time, err error) {
	if certified, err = k.certificates.sync(ctx, n, e, pod); err != nil {
		return nil, time.Time{}, err
	}
	if missing, err = k.missingFor(ctx, e, pod); err != nil {
		return nil, time.Time{}, err
	}
	unattached, err := k.attaching.sync(ctx, n, e, pod)
	return append(missing, unattached...), certified, err
}

// sooner returns the earlier of two times; the zero time is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// missingFor returns the pod's missing needs while any of its containers is still to be
// created.
func (k *podWorker) missingFor(ctx context.Context, e *podEntry, pod *corev1.Pod) ([]lifecycle.Need, error) {
	if e.state.Ended || lifecycle.Finished(pod) || pod.DeletionTimestamp != nil {
		return nil, nil
	}
	toMake := func(c lifecycle.Container) bool {
		return c.Phase != lifecycle.Running && (c.Kind != podspec.InitContainer || !lifecycle.Succeeded(&c))
	}
	if e.state.Sandbox && !slices.ContainsFunc(e.state.Containers, toMake) {
		return nil, nil
	}
	missing, err := k.supplies.missing(ctx, e, pod)
	if err == nil && (len(pod.Spec.ResourceClaims) > 0 || pod.Status.ExtendedResourceClaimStatus != nil) && !e.state.Sandbox {
		var unprepared []lifecycle.Need
		unprepared, err = k.supplies.unprepared(ctx, pod)
		missing = append(missing, unprepared...)
	}
	missing = append(missing, lifecycle.Disabled(pod)...)
	for _, c := range e.files.Certificates(pod) {
		if _, _, why := c.Bundle(); why != nil {
			missing = append(missing, lifecycle.NotIssued(c.Volume, why))
		}
	}
	return missing, err
}

// step runs lifecycle.Step with the state of the node, and releases the address that the pod had
// before, if the step gave it another one or none.
func (k *podWorker) step(n *nodes.Node, in lifecycle.Input) lifecycle.Outcome {
	in.Now, in.TakeAddress, in.NetworkError = k.opts.Clock.Now(), n.TakeAddress, n.NetworkError()
	in.HasImage, in.PullError = n.HasImage, k.pullError
	in.Latencies, in.Backoff = n.Latencies(&k.opts.Latencies), &k.opts.Backoff
	out := lifecycle.Step(in)
	if old := in.State.Address; old.IsValid() && out.State.Address != old {
		n.ReleaseAddress(old)
	}
	return out
}

// syncStatus writes the pod's status if it differs from the API's, and deletes a pod that is
// terminating and has ended. It returns the resourceVersion that matches the pod's state; empty
// if there is none yet.
func (k *podWorker) syncStatus(ctx context.Context, e *podEntry, pod *corev1.Pod, n *nodes.Node) (string, error) {
	seen := pod
	if e.state.Ended && !e.released {
		if err := k.supplies.noteMaker(ctx, e, pod); err != nil {
			return "", err
		}
		// Once the status says so, the scheduler may bind another pod to this one's resources.
		e.released = true
		k.release(n, pod)
		k.attaching.release(n, pod.UID)
	}
	pod, err := k.writeStatus(ctx, e, pod, n)
	if err != nil {
		k.loseListed(seen, err)
		return "", ignoreGone(err)
	}
	if pod.Generation != seen.Generation || !pod.DeletionTimestamp.Equal(seen.DeletionTimestamp) || !maps.Equal(pod.Annotations, seen.Annotations) {
		// The status was written onto a newer object, which the informer will deliver as an
		// echo of this write: sync the pod again.
		k.loop.Add(podKey(string(pod.UID)))
		return "", nil
	}
	if !e.state.Ended || e.isTaken() {
		return pod.ResourceVersion, nil
	}
	if !e.returned {
		e.returned = true
		if e.state.Address.IsValid() {
			n.ReleaseAddress(e.state.Address)
		}
	}
	if !removable(pod) {
		return pod.ResourceVersion, nil
	}
	now := int64(0)
	err = k.opts.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now,
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
	switch {
	case err == nil:
		return pod.ResourceVersion, nil
	case apierrors.IsConflict(err):
		// Another pod has the name by now.
		return "", nil
	}
	return "", ignoreGone(err)
}

// removable reports whether a terminating pod waits only for its kubelet. With a grace period
// of 0 the kubelet has already deleted it, and finalizers hold the pod.
func removable(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && (pod.DeletionGracePeriodSeconds == nil || *pod.DeletionGracePeriodSeconds > 0)
}

// statusTries bounds the attempts to write a status in the face of conflicts.
const statusTries = 5

func (k *podWorker) writeStatus(ctx context.Context, e *podEntry, pod *corev1.Pod, n *nodes.Node) (*corev1.Pod, error) {
	client := k.opts.Client.CoreV1().Pods(pod.Namespace)
	var err error
	for range statusTries {
		if e.isTaken() {
			return pod, nil // Stages took it meanwhile
		}
		status := lifecycle.PodStatus(pod, &e.state, n.HostIPs(), k.opts.Clock.Now())
		if equality.Semantic.DeepEqual(&pod.Status, &status) {
			e.due = time.Time{}
			return pod, nil
		}
		if n.ReportsNotReady() && sameContainers(&pod.Status, &status) {
			e.due = time.Time{} // the node lifecycle controller would mark it again, and so on
			return pod, nil
		}
		if e.mustWait(&status, k.opts.Clock.Now()) {
			return pod, nil
		}
		update := *pod
		update.Status = status
		var written *corev1.Pod
		written, err = client.UpdateStatus(ctx, &update, metav1.UpdateOptions{})
		if err == nil {
			e.recordWrite()
			e.observe(written)
			return written, nil
		}
		if !apierrors.IsConflict(err) {
			break
		}
		fresh, getErr := client.Get(ctx, pod.Name, metav1.GetOptions{})
		if getErr != nil {
			err = getErr
			break
		}
		if fresh.UID != pod.UID {
			return nil, apierrors.NewNotFound(corev1.Resource("pods"), pod.Name)
		}
		pod = fresh
		e.observe(fresh)
	}
	if isNotOurs(err) {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), pod.Name)
	}
	return nil, fmt.Errorf("writing the status of pod %s: %w", klog.KObj(pod), err)
}

// isNotOurs reports that the API refused a request about a pod, or an object of one, because the
// pod of that name is not bound to the node, or has no such object: it was deleted, or replaced,
// before the request.
func isNotOurs(err error) bool {
	return apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, causeUnrelated)
}

// causeUnrelated is the API server's cause of a request that is refused because no pod on the node
// is, or refers to, the object (auth.CauseUnrelated).
const causeUnrelated metav1.CauseType = "UnrelatedToNode"

// ignoreGone drops the error for a pod that does not exist any more; its deletion event
// follows.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// The first and the longest delay between attempts to reach the API server.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// forgetPod ends the runtime of a pod that was deleted from the API.
func (k *podWorker) forgetPod(e *podEntry, pod *corev1.Pod, n *nodes.Node) {
	k.due.Set(podKey(string(pod.UID)), time.Time{})
	k.pods.remove(pod.UID)
	k.assigner.free(e.node)
	e.showEnd(k.opts.Clock.Now())
	k.pods.stepped()
	e.files.Free()
	if e.lacking {
		k.supplies.forget(pod.UID)
	}
	if len(e.volumes) > 0 {
		k.attaching.forget(e.node, pod.UID)
	}
	if n == nil {
		return
	}
	k.release(n, pod)
	k.attaching.release(n, pod.UID)
	if e.usageDigest != 0 {
		k.loop.Add(pressureKey(n.Name))
	}
	kept := e.known && n.Active() && k.statics.survivesDeletion(pod)
	if kept {
		k.statics.keep(pod, e.state)
	} else if e.state.Address.IsValid() && !e.returned {
		n.ReleaseAddress(e.state.Address)
	}
	e.releaseStaged(n)
	k.dropNode(n)
	if podspec.IsMirror(pod) {
		k.loop.Add(staticKey(n.Name))
	}
	if kept || !n.Reachable() {
		return
	}
	var events []lifecycle.Event
	for i, ref := range podspec.Containers(pod) {
		if i < len(e.state.Containers) && e.state.Containers[i].Phase == lifecycle.Running && e.state.Containers[i].StopAt.IsZero() {
			events = append(events, lifecycle.Event{FieldPath: ref.FieldPath(), Kind: corev1.EventTypeNormal, Reason: "Killing", Message: "Stopping container " + ref.Name})
		}
	}
	k.report(n, pod, events)
}
