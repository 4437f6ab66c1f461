package verbs

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/fieldmanager"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
)

// serveUpdate serves PUT on an object or a subresource.
func serveUpdate(ctx context.Context, rq *Call) error {
	opts, err := rq.UpdateOptions()
	if err != nil {
		return err
	}
	rq.options = admission.Options{FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation}
	data, err := rq.Body()
	if err != nil {
		return err
	}
	sent, err := rq.Decode(data, rq.Kind(), rq.NewBody(), opts.FieldValidation)
	if err != nil {
		return err
	}
	if err := rq.CheckIdentity(sent); err != nil {
		return err
	}
	w := write{
		manager: rq.FieldOwner(opts.FieldManager),
		dryRun:  request.IsDryRun(opts.DryRun),
		// An attempt modifies the body. Few requests need another one, which decodes it again.
		make: func(runtime.Object) (obj runtime.Object, err error) {
			if obj, sent = sent, nil; obj != nil {
				return obj, nil
			}
			if obj, err = rq.DecodeAgain(data, rq.Kind(), rq.NewBody()); err != nil {
				return nil, err
			}
			return obj, rq.CheckIdentity(obj)
		},
	}
	w.createIfMissing = rq.Row.Strategy.AllowCreateOnUpdate && rq.Sub == nil
	return rq.update(ctx, w)
}

// write is an update or a patch: how the new state is computed from the current one.
type write struct {
	manager string
	dryRun  bool
	// patch reports that the object's UID is a field like any other; in a PUT it is a
	// precondition.
	patch bool
	// apply reports that make sets the managed fields (server-side apply).
	apply           bool
	createIfMissing bool
	// make returns the object that the client wants, given the current one (of the
	// request's kind; nil if it does not exist), which make must not modify.
	make func(current runtime.Object) (runtime.Object, error)
}

// update runs a write through admission, preparation, validation and the store, against
// the newest object.
func (rq *Call) update(ctx context.Context, w write) error {
	var answer runtime.Object
	change := func(stored runtime.Object) (runtime.Object, error) {
		if stored == nil {
			obj, err := rq.changeToNew(ctx, w)
			return obj, err
		}
		obj, gone, err := rq.changeExisting(ctx, w, rq.FromStored(stored))
		if err != nil {
			return nil, err
		}
		if obj == nil {
			return stored, nil
		}
		if gone {
			return rq.ToStored(obj), storage.ErrDelete
		}
		return rq.ToStored(obj), nil
	}
	opts := storage.UpdateOptions{CreateIfMissing: w.createIfMissing, DryRun: w.dryRun}
	if rq.Row.Storage != nil {
		opts.Same = func(current runtime.Object) runtime.Object { return rq.ToStored(rq.FromStored(current)) }
	}
	result, err := rq.Objects.Update(ctx, rq.Key(), rq.Name, change, opts)
	if err != nil {
		return err
	}
	if !w.dryRun && !result.Unchanged {
		rq.RecordWrite(result)
	}
	answer = rq.FromStored(result.Object)
	if result.Deleted { // the last finalizer is gone; as upstream, the answer is not of the deletion's revision
		answer = storage.WithRevision(answer, storage.RevisionOf(result.Old))
	}
	if rq.Sub != nil && rq.Sub.Get != nil {
		if answer, err = rq.Sub.Get(answer); err != nil {
			return err
		}
	}
	return rq.WriteResult(created(result.Created), answer)
}

// changeToNew returns the object that an update or apply creates.
func (rq *Call) changeToNew(ctx context.Context, w write) (runtime.Object, error) {
	obj, err := w.make(nil)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if m.GetUID() != "" {
		if w.apply {
			return nil, apierrors.NewConflict(rq.GroupResource(), rq.Name, fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", m.GetUID()))
		}
		return nil, rq.uidMismatch(m.GetUID(), "")
	}
	if _, err := storage.ObjectRevision(m); err != nil {
		return nil, request.UnreadableVersion(err)
	}
	m.SetResourceVersion("")
	rq.DedupOwners(m)
	strategy.Default(rq.Row, obj)
	if !w.apply {
		if obj, err = rq.backend.Fields.TrackCreate(rq.fieldWrite(w.manager), obj); err != nil {
			return nil, err
		}
	}
	if err := rq.mutateCreate(ctx, obj, w.dryRun); err != nil {
		return nil, err
	}
	if err := rq.checkCreate(ctx, obj, w.dryRun); err != nil {
		return nil, err
	}
	return rq.ToStored(obj), nil
}

// changeExisting computes the new state of an existing object. gone reports that the
// object's last finalizer was removed, so that it is to be deleted. A nil object means
// that nothing changes.
func (rq *Call) changeExisting(ctx context.Context, w write, old runtime.Object) (obj runtime.Object, gone bool, err error) {
	if obj, err = rq.wanted(ctx, w, old); err != nil {
		return nil, false, err
	}
	if err := rq.checkVersion(obj, old, w.patch); err != nil {
		return nil, false, err
	}
	if m, err := meta.Accessor(obj); err == nil {
		rq.DedupOwners(m)
	}
	strategy.Default(rq.Row, obj)
	// As upstream: fields that admission and preparation set have no owner.
	if !w.apply {
		if obj, err = rq.backend.Fields.TrackUpdate(rq.fieldWrite(w.manager), obj, old); err != nil {
			return nil, false, err
		}
	}
	var attributes *admission.Attributes
	if !rq.speaksAnother() {
		attributes = rq.Attributes(admission.Update, obj, old, w.dryRun)
		if err := rq.backend.Admission.Mutate(ctx, attributes); err != nil {
			return nil, false, err
		}
	}
	if err := rq.backend.Preparer.Update(rq.Row, rq.Subresource, obj, old); err != nil {
		return nil, false, err
	}
	if err := strategy.ValidateUpdate(rq.Row, rq.Subresource, obj, old, rq.backend.Clock.Now()); err != nil {
		return nil, false, err
	}
	fieldmanager.KeepTimes(obj, old, rq.ToStored)
	rq.warn(obj, old)
	if rq.speaksAnother() {
		if attributes, err = rq.spokenAttributes(obj, old, w.dryRun); err != nil {
			return nil, false, err
		}
	}
	if err := rq.backend.Admission.Check(ctx, attributes); err != nil {
		return nil, false, err
	}
	return obj, strategy.ReadyToDelete(rq.Row, obj), nil
}

// wanted returns the whole object that the client wants, also for a write through a
// subresource.
func (rq *Call) wanted(ctx context.Context, w write, old runtime.Object) (runtime.Object, error) {
	if rq.Sub == nil || !rq.Sub.Writes() {
		return w.make(old)
	}
	current := old
	if rq.Sub.Get != nil {
		var err error
		if current, err = rq.Sub.ForUpdate(old); err != nil {
			return nil, err
		}
	}
	owned := fieldmanager.NewScale(rq.Row, rq.Sub, old)
	if w.apply {
		if err := owned.Show(current); err != nil {
			return nil, err
		}
	}
	spoken, err := w.make(current)
	if err != nil {
		return nil, err
	}
	if rq.speaksAnother() {
		if err := rq.backend.Admission.Mutate(ctx, rq.Attributes(admission.Update, spoken, current, w.dryRun)); err != nil {
			return nil, err
		}
	}
	if err := rq.sameUID(spoken, old); err != nil {
		return nil, err
	}
	parent := old.DeepCopyObject()
	if err := rq.Sub.WriteInto(parent, spoken, rq.backend.Clock.Now()); err != nil {
		return nil, err
	}
	if w.apply {
		if err := owned.Keep(parent, spoken); err != nil {
			return nil, err
		}
	}
	// The resourceVersion that the client saw is in the object that it sent; without one, it scales any state.
	if sent, err := meta.Accessor(spoken); err == nil && sent.GetResourceVersion() != "" {
		m, err := meta.Accessor(parent)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		m.SetResourceVersion(sent.GetResourceVersion())
	}
	return parent, nil
}

// checkVersion implements optimistic concurrency: an update with a resourceVersion or UID
// fails unless the current object has it.
func (rq *Call) checkVersion(obj, old runtime.Object, patch bool) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	o, err := meta.Accessor(old)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if !patch && m.GetUID() != "" && m.GetUID() != o.GetUID() {
		return rq.uidMismatch(m.GetUID(), o.GetUID())
	}
	switch m.GetResourceVersion() {
	case o.GetResourceVersion():
		return nil
	case "", "0":
		if !rq.Row.Strategy.ForbidUnconditionalUpdate {
			// Without a resourceVersion, the update replaces any state.
			m.SetResourceVersion(o.GetResourceVersion())
			return nil
		}
		// Upstream puts the resource here where other errors have the kind.
		resource := schema.GroupKind{Group: rq.Row.Group, Kind: rq.Row.Plural}
		return apierrors.NewInvalid(resource, rq.Name, field.ErrorList{field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	}
	if _, err := storage.ObjectRevision(m); err != nil {
		return request.UnreadableVersion(err)
	}
	return storage.Conflict(rq.GroupResource(), rq.Name)
}

// sameUID returns an error if a subresource's object has the UID of another parent.
func (rq *Call) sameUID(spoken, parent runtime.Object) error {
	m, err := meta.Accessor(spoken)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	o, err := meta.Accessor(parent)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if m.GetUID() != "" && m.GetUID() != o.GetUID() {
		return rq.uidMismatch(m.GetUID(), o.GetUID())
	}
	return nil
}

// uidMismatch returns the error for an update of an object that has been replaced by
// another of the same name, with the text of upstream's store.
func (rq *Call) uidMismatch(wanted, actual types.UID) error {
	return apierrors.NewConflict(rq.GroupResource(), rq.Name, fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %v, UID in object meta: %v", rq.Key(), wanted, actual))
}
