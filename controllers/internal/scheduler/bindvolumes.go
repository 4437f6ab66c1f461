package scheduler

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
	"minikcm.dev/minikcm/internal/cause"
)

var errBindTimeout = errors.New("context deadline exceeded")

// bindVolumes writes which volumes the claims of a pod are to be bound to, and for which node
// volumes are to be provisioned. The pod is bound when the claims are: the binder and the
// provisioner do that.
func (s *Scheduler) bindVolumes(ctx context.Context, w *volumeWait) {
	a := w.attempt
	if err := s.writeVolumes(cause.With(ctx, cause.Of(a.Info.Pod)), w); err != nil {
		s.volumesFailed(ctx, a, err)
		return
	}
	gone := false
	bound, err := s.volumes.park(w, func() { gone = !s.queue.Park(a, s.profileOf(a.Info.Pod).BindTimeout) })
	switch {
	case gone:
		s.volumes.forget(a.Info.Pod.UID)
		s.devices.end(a.Info.Pod.UID)
	case err != nil:
		s.volumesFailed(ctx, a, fmt.Errorf("binding volumes: %w", err))
	case bound:
		s.bind(ctx, a, w.node)
	}
}

// resume binds a pod that has waited for its volumes or its devices, or ends its attempt if they are
// not bound.
func (s *Scheduler) resume(a *queue.Attempt) {
	if w := s.devices.bindings.get(a.Info.Pod.UID); w != nil {
		s.queue.Decided(a)
		a.Annotations, a.Expected, w.attempt = w.attempt.Annotations, w.attempt.Expected, a
		s.later(a, func(ctx context.Context) { s.awaitDevices(ctx, w) })
		return
	}
	w := s.volumes.get(a.Info.Pod.UID)
	if w == nil {
		s.queue.Done(a) // the pod has been removed
		return
	}
	s.queue.Decided(a)
	a.Annotations, a.Expected = w.attempt.Annotations, w.attempt.Expected
	bound, err := s.volumes.status(w)
	s.later(a, func(ctx context.Context) {
		if bound {
			s.bind(ctx, a, w.node)
			return
		}
		if err == nil {
			err = errBindTimeout
		}
		s.volumesFailed(ctx, a, fmt.Errorf("binding volumes: %w", err))
	})
}

// volumesFailed ends an attempt whose volumes could not be bound.
func (s *Scheduler) volumesFailed(ctx context.Context, a *queue.Attempt, err error) {
	s.bindFailed(cause.With(ctx, cause.Of(a.Info.Pod)), a, fmt.Errorf("running PreBind plugin \"VolumeBinding\": %w", err))
}

func (s *Scheduler) writeVolumes(ctx context.Context, w *volumeWait) error {
	core := s.client.CoreV1()
	for _, b := range w.plan.Bind {
		volume, changed, err := storagehelpers.GetBindVolumeToClaim(b.Volume, b.Claim)
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		written, err := core.PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		s.volumes.wrote(w, written)
	}
	for _, claim := range w.plan.Provision {
		written, err := s.selectNode(ctx, claim, w.node)
		if err != nil {
			return err
		}
		s.volumes.wrote(w, written)
	}
	return nil
}

// selectNode makes the provisioner create the volume of a claim for a node. Another pod of the
// claim may have selected the same node meanwhile.
func (s *Scheduler) selectNode(ctx context.Context, claim *corev1.PersistentVolumeClaim, node string) (*corev1.PersistentVolumeClaim, error) {
	claims := s.client.CoreV1().PersistentVolumeClaims(claim.Namespace)
	claim = claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, storagehelpers.AnnSelectedNode, node)
	written, err := claims.Update(ctx, claim, metav1.UpdateOptions{})
	if !apierrors.IsConflict(err) {
		return written, err
	}
	live, getErr := claims.Get(ctx, claim.Name, metav1.GetOptions{})
	if getErr == nil && live.UID == claim.UID && live.Annotations[storagehelpers.AnnSelectedNode] == node {
		return live, nil
	}
	return nil, err
}

// wrote records the version of a written claim or volume.
func (v *volumes) wrote(w *volumeWait, o metav1.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	w.written[keyOf(o)] = versionOf(o)
}
