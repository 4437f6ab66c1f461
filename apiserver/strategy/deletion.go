package strategy

import (
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/resources"
)

// MarkDeleted decides what a delete does to an object: delete it (gone, with the last
// state), or mark it (the new state). now is the cluster's time.
func MarkDeleted(row *resources.Resource, old runtime.Object, opts *metav1.DeleteOptions, now metav1.Time) (obj runtime.Object, gone bool, err error) {
	obj = old.DeepCopyObject()
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, false, apierrors.NewInternalError(err)
	}
	strategy := row.Strategy
	setPropagationFinalizers(m, strategy.OrphanByDefault, opts)
	grace := int64(0)
	if strategy.GracePeriod != nil {
		grace = strategy.GracePeriod(old, opts.GracePeriodSeconds)
	}
	pending := hasFinalizers(strategy.Finalizing, obj, m)
	if grace == 0 && !pending {
		if strategy.GracePeriod != nil {
			endGrace(m, now)
		}
		return obj, true, nil
	}
	if m.GetDeletionTimestamp() != nil {
		return shorten(obj, m, grace), false, nil
	}
	deletion := metav1.NewTime(now.Add(time.Duration(grace) * time.Second))
	m.SetDeletionTimestamp(&deletion)
	m.SetDeletionGracePeriodSeconds(&grace)
	if m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	if strategy.MarkDeleted != nil {
		strategy.MarkDeleted(obj)
	}
	return obj, false, nil
}

// endGrace sets the deletion timestamp of an object that could have had a grace period
// and is deleted immediately: now, or when an earlier delete began.
func endGrace(m metav1.Object, now metav1.Time) {
	deletion, none := now, int64(0)
	if begun := m.GetDeletionTimestamp(); begun != nil {
		deletion = *begun
		if seconds := m.GetDeletionGracePeriodSeconds(); seconds != nil {
			deletion = metav1.NewTime(begun.Add(-time.Duration(*seconds) * time.Second))
		}
	} else if m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	m.SetDeletionTimestamp(&deletion)
	m.SetDeletionGracePeriodSeconds(&none)
}

// shorten applies another delete to an object that is already being deleted: it can
// only shorten the grace period.
func shorten(obj runtime.Object, m metav1.Object, grace int64) runtime.Object {
	current := int64(0)
	if seconds := m.GetDeletionGracePeriodSeconds(); seconds != nil {
		current = *seconds
	}
	if grace >= current {
		return obj
	}
	// The deletion timestamp is the end of the grace period and moves with it.
	begun := m.GetDeletionTimestamp().Add(-time.Duration(current) * time.Second)
	deletion := metav1.NewTime(begun.Add(time.Duration(grace) * time.Second))
	m.SetDeletionTimestamp(&deletion)
	m.SetDeletionGracePeriodSeconds(&grace)
	return obj
}

// setPropagationFinalizers sets the finalizers for the propagation policy, which the
// garbage collector acts on.
func setPropagationFinalizers(m metav1.Object, orphanByDefault bool, opts *metav1.DeleteOptions) {
	finalizers := slices.Clone(m.GetFinalizers())
	orphan := wantsOrphans(finalizers, orphanByDefault, opts)
	foreground := opts.PropagationPolicy != nil && *opts.PropagationPolicy == metav1.DeletePropagationForeground
	if opts.PropagationPolicy == nil && opts.OrphanDependents == nil { // old clients send it
		foreground = slices.Contains(finalizers, metav1.FinalizerDeleteDependents)
	}
	m.SetFinalizers(setFinalizer(setFinalizer(finalizers, metav1.FinalizerOrphanDependents, orphan), metav1.FinalizerDeleteDependents, foreground))
}

func wantsOrphans(finalizers []string, byDefault bool, opts *metav1.DeleteOptions) bool {
	if opts.OrphanDependents != nil { // old clients send it
		return *opts.OrphanDependents // old clients send it
	}
	if opts.PropagationPolicy != nil {
		return *opts.PropagationPolicy == metav1.DeletePropagationOrphan
	}
	if slices.Contains(finalizers, metav1.FinalizerOrphanDependents) {
		return true
	}
	return byDefault && !slices.Contains(finalizers, metav1.FinalizerDeleteDependents)
}

func setFinalizer(finalizers []string, name string, wanted bool) []string {
	i := slices.Index(finalizers, name)
	switch {
	case wanted && i < 0:
		return append(finalizers, name)
	case !wanted && i >= 0:
		return slices.Delete(finalizers, i, i+1)
	}
	return finalizers
}

// ReadyToDelete reports whether an object that is being deleted has no finalizers and no
// grace period left after this update.
func ReadyToDelete(row *resources.Resource, obj runtime.Object) bool {
	m, err := meta.Accessor(obj)
	if err != nil || m.GetDeletionTimestamp() == nil {
		return false
	}
	return !hasFinalizers(row.Strategy.Finalizing, obj, m) && graceIsOver(m)
}

func hasFinalizers(finalizing func(runtime.Object) bool, obj runtime.Object, m metav1.Object) bool {
	return len(m.GetFinalizers()) > 0 || (finalizing != nil && finalizing(obj))
}

func graceIsOver(m metav1.Object) bool {
	seconds := m.GetDeletionGracePeriodSeconds()
	return seconds == nil || *seconds == 0
}
