package strategy

import (
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Deletion is the effect of a delete on an object. With neither Marked nor Gone, it changes nothing.
type Deletion struct {
	// Object is the state after the delete, or the last one before the object is gone.
	Object runtime.Object
	// Marked reports that Object is stored, with a deletion timestamp; Gone that the object is
	// deleted, afterwards if it is marked too: watches get both.
	Marked, Gone bool
}

// Delete decides the outcome of a delete. now is the cluster's time.
func Delete(row *resources.Resource, old runtime.Object, opts *metav1.DeleteOptions, now metav1.Time) (Deletion, error) {
	obj := old.DeepCopyObject()
	m, err := meta.Accessor(obj)
	if err != nil {
		return Deletion{}, apierrors.NewInternalError(err)
	}
	if row.Strategy.MarkDeleted != nil && m.GetDeletionTimestamp() == nil {
		m.SetDeletionTimestamp(&now)
		setPropagationFinalizers(row, m, opts)
		row.Strategy.MarkDeleted(obj)
		return Deletion{Object: obj, Marked: true}, nil
	}
	if row.Strategy.Finalizing != nil && row.Strategy.Finalizing(obj) {
		return Deletion{Object: old}, nil
	}
	graceful := false
	if row.Strategy.GracePeriod != nil {
		var pending bool
		if graceful, pending = beginGrace(row, old, m, opts.GracePeriodSeconds, now); pending {
			// Nothing changes anymore, not even the finalizers.
			return Deletion{Object: old}, nil
		}
	}
	setPropagationFinalizers(row, m, opts)
	pending := len(m.GetFinalizers()) > 0
	if graceful {
		return Deletion{Object: obj, Marked: true, Gone: !pending && graceIsOver(m)}, nil
	}
	if !pending {
		return Deletion{Object: obj, Gone: true}, nil
	}
	markForFinalizers(m, now)
	return Deletion{Object: obj, Marked: true}, nil
}

// beginGrace sets the deletion timestamp, which is the end of the grace period, of an object that is
// deleted gracefully. It reports whether it has, or whether an earlier delete is pending that this one does not shorten. With
// neither, the grace period is over.
func beginGrace(row *resources.Resource, old runtime.Object, m metav1.Object, asked *int64, now metav1.Time) (graceful, pending bool) {
	if m.GetDeletionTimestamp() != nil {
		return shortenGrace(m, asked, now)
	}
	grace := row.Strategy.GracePeriod(old, asked)
	deletion := metav1.NewTime(now.Add(time.Duration(grace) * time.Second))
	m.SetDeletionTimestamp(&deletion)
	m.SetDeletionGracePeriodSeconds(&grace)
	raiseGeneration(m)
	return true, false
}

// shortenGrace applies another delete to an object that is already being deleted: it can
// only shorten the grace period.
func shortenGrace(m metav1.Object, asked *int64, now metav1.Time) (graceful, pending bool) {
	if graceIsOver(m) {
		return false, false
	}
	current := *m.GetDeletionGracePeriodSeconds()
	if asked == nil {
		return false, true
	}
	grace := *asked
	if grace < 0 {
		grace = 1
	}
	if grace >= current {
		return false, true
	}
	begun := m.GetDeletionTimestamp().Add(-time.Duration(current) * time.Second)
	deletion := metav1.NewTime(begun.Add(time.Duration(grace) * time.Second))
	if deletion.Before(&now) {
		deletion = now
		grace = min(grace, 1) // a graceful deletion stays one: its end is for the kubelet
	}
	m.SetDeletionTimestamp(&deletion)
	m.SetDeletionGracePeriodSeconds(&grace)
	return true, false
}

// markForFinalizers marks an object that waits for its finalizers only.
func markForFinalizers(m metav1.Object, now metav1.Time) {
	begun := m.GetDeletionTimestamp()
	if begun == nil {
		raiseGeneration(m)
	}
	if begun == nil || now.Before(begun) {
		m.SetDeletionTimestamp(&now)
	}
	none := int64(0)
	m.SetDeletionGracePeriodSeconds(&none)
}

// raiseGeneration raises the generation, if there is one, because the beginning of a deletion
// changes what controllers do.
func raiseGeneration(m metav1.Object) {
	if m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
}

// setPropagationFinalizers sets the finalizers for the propagation policy, which the
// garbage collector acts on.
func setPropagationFinalizers(row *resources.Resource, m metav1.Object, opts *metav1.DeleteOptions) {
	if row.Strategy.NoDependents {
		m.SetFinalizers(setFinalizer(setFinalizer(slices.Clone(m.GetFinalizers()), metav1.FinalizerOrphanDependents, false), metav1.FinalizerDeleteDependents, false))
		return
	}
	finalizers := slices.Clone(m.GetFinalizers())
	orphan := wantsOrphans(finalizers, row.Strategy.OrphanByDefault, opts)
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
