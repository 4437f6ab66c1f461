package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
	"minikcm.dev/minikcm/internal/cause"
)

// bindingWaits holds the pods with a node whose allocated devices have binding conditions
// (KEP-5007). Its lock is taken before the locks of the devices and the queue, never after.
type bindingWaits struct {
	mu    sync.Mutex
	byPod map[types.UID]*bindingWait
}

// bindingWait is a pod that is bound when the conditions of its devices are true. Its claims are
// written: they keep the devices.
type bindingWait struct {
	attempt *queue.Attempt
	node    string
	claims  []types.NamespacedName
	timeout time.Duration
	began   time.Time
	// deadline ends the wait if no claim does.
	deadline time.Time
	// parked is set if the queue has the pod.
	parked bool
}

// binding returns the wait of a pod whose claims are written; nil: its devices have no binding conditions.
func (d *devices) binding(a *queue.Attempt, node string, timeout time.Duration) (*bindingWait, error) {
	d.mu.Lock()
	claims, err := d.claimsLocked(a.Info.Pod)
	if extended := d.extendedLocked(a.Info.Pod); extended != nil {
		claims = append(claims, extended)
	}
	d.mu.Unlock()
	if err != nil || !slices.ContainsFunc(claims, plugins.HasBindingConditions) {
		return nil, err
	}
	w := &bindingWait{attempt: a, node: node, timeout: timeout, began: d.clock.Now()}
	w.deadline = w.began.Add(timeout)
	for _, claim := range claims {
		w.claims = append(w.claims, keyOf(claim))
	}
	d.bindings.mu.Lock()
	defer d.bindings.mu.Unlock()
	d.bindings.byPod[a.Info.Pod.UID] = w
	return w, nil
}

// get returns the wait of a pod; nil: it does not wait for devices.
func (b *bindingWaits) get(pod types.UID) *bindingWait {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.byPod[pod]
}

// forget removes the wait of a pod.
func (b *bindingWaits) forget(pod types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.byPod, pod)
}

// awaitDevices binds a pod if the conditions of its devices are true, and parks it if they are not yet.
// Events of the claims, or the end of the time, resume it.
func (s *Scheduler) awaitDevices(ctx context.Context, w *bindingWait) {
	a := w.attempt
	uid := a.Info.Pod.UID
	gone := false
	ready, err := s.devices.park(w, func(timeout time.Duration) { gone = !s.queue.Park(a, timeout) })
	switch {
	case gone:
		s.volumes.forget(uid)
		s.devices.bindings.forget(uid)
	case err != nil:
		s.waited(w, err)
		s.devicesFailed(ctx, a, err)
	case ready:
		s.waited(w, nil)
		s.devices.bindings.forget(uid)
		s.bindPod(cause.With(ctx, cause.Of(a.Info.Pod)), a, w.node)
	}
}

// waited counts the end of a wait.
func (s *Scheduler) waited(w *bindingWait, err error) {
	profile, seconds := w.attempt.Info.Pod.Spec.SchedulerName, s.clock.Now().Sub(w.began).Seconds()
	s.metrics.waited(profile, s.devices.known(w.claims), seconds, err)
}

// known returns the claims that exist.
func (d *devices) known(keys []types.NamespacedName) []*resourcev1.ResourceClaim {
	d.mu.Lock()
	defer d.mu.Unlock()
	claims := make([]*resourcev1.ResourceClaim, 0, len(keys))
	for _, key := range keys {
		if claim := d.claimLocked(key); claim != nil {
			claims = append(claims, claim)
		}
	}
	return claims
}

// devicesFailed ends an attempt whose devices could not be allocated or bound.
func (s *Scheduler) devicesFailed(ctx context.Context, a *queue.Attempt, err error) {
	s.bindFailed(cause.With(ctx, cause.Of(a.Info.Pod)), a, fmt.Errorf("running PreBind plugin \"DynamicResources\": %w", err))
}

// park calls put, with the time that is left, unless the devices of a pod are ready or will not be: then it
// returns that. The lock makes the check and the parking one step: an event of a claim comes before
// both or after both.
func (d *devices) park(w *bindingWait, put func(timeout time.Duration)) (ready bool, err error) {
	d.bindings.mu.Lock()
	defer d.bindings.mu.Unlock()
	ready, left, err := d.check(w)
	if ready || err != nil {
		return ready, err
	}
	w.parked = true
	put(left)
	return false, nil
}

// devicesChanged resumes the parked pods whose wait a change of a claim has ended.
func (s *Scheduler) devicesChanged(claim *resourcev1.ResourceClaim) {
	for _, pod := range s.devices.ended(keyOf(claim)) {
		s.queue.Resume(pod)
	}
}

func (d *devices) ended(claim types.NamespacedName) []types.UID {
	d.bindings.mu.Lock()
	defer d.bindings.mu.Unlock()
	var ended []types.UID
	for uid, w := range d.bindings.byPod {
		if !w.parked || !slices.Contains(w.claims, claim) {
			continue
		}
		if ready, _, err := d.check(w); ready || err != nil {
			w.parked = false
			ended = append(ended, uid)
		}
	}
	slices.Sort(ended)
	return ended
}

// check reports whether all binding conditions of a pod's devices are true, or why they will not be. left is
// how long they may take.
func (d *devices) check(w *bindingWait) (ready bool, left time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, end := d.clock.Now(), w.deadline
	ready = true
	for _, key := range w.claims {
		claim := d.claimLocked(key)
		if claim == nil {
			return false, 0, fmt.Errorf("could not find ResourceClaim %q", key)
		}
		usable, err := plugins.DevicesReady(claim)
		switch {
		case err != nil:
			return false, 0, err
		case usable:
			continue
		}
		ready = false
		if deadline, ok := plugins.DevicesDeadline(claim, w.timeout); ok && deadline.Before(now) {
			return false, 0, fmt.Errorf("%w: claim=%s", plugins.ErrDeviceTimeout, claim.Name)
		} else if ok && deadline.Before(end) {
			end = deadline
		}
	}
	if !ready && w.deadline.Before(now) {
		return false, 0, fmt.Errorf("%w: %w", plugins.ErrDeviceTimeout, errBindTimeout)
	}
	return ready, end.Sub(now) + 1, nil // time is over after the end
}
