package apiserver

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/apiserver/fieldmanager"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/apiserver/strategy"
)

// serveUpdate serves PUT on an object or a subresource.
func serveUpdate(ctx context.Context, rq *call) error {
	opts, err := rq.updateOptions()
	if err != nil {
		return err
	}
	data, err := rq.body()
	if err != nil {
		return err
	}
	sent, err := rq.decode(data, rq.kind(), rq.newBody(), opts.FieldValidation)
	if err != nil {
		return err
	}
	if err := rq.checkIdentity(sent); err != nil {
		return err
	}
	w := write{
		manager: fieldOwner(rq, opts.FieldManager),
		dryRun:  isDryRun(opts.DryRun),
		// Each attempt gets a copy, because an attempt modifies the body.
		make: func(runtime.Object) (runtime.Object, error) { return sent.DeepCopyObject(), nil },
	}
	w.createIfMissing = rq.row.Strategy.AllowCreateOnUpdate && rq.sub == nil
	return rq.update(ctx, w)
}

// newBody returns an empty object of the request's kind.
func (rq *call) newBody() runtime.Object {
	if rq.sub != nil && rq.sub.New != nil {
		return rq.sub.New()
	}
	return rq.row.New()
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
func (rq *call) update(ctx context.Context, w write) error {
	var answer runtime.Object
	change := func(stored runtime.Object) (runtime.Object, error) {
		if stored == nil {
			obj, err := rq.changeToNew(ctx, w)
			return obj, err
		}
		obj, gone, err := rq.changeExisting(ctx, w, rq.fromStored(stored))
		if err != nil {
			return nil, err
		}
		if obj == nil {
			return stored, nil
		}
		if gone {
			return rq.toStored(obj), storage.ErrDelete
		}
		return rq.toStored(obj), nil
	}
	opts := storage.UpdateOptions{CreateIfMissing: w.createIfMissing, DryRun: w.dryRun}
	if rq.row.Storage != nil {
		opts.Same = func(current runtime.Object) runtime.Object { return rq.toStored(rq.fromStored(current)) }
	}
	result, err := rq.objects.Update(ctx, rq.key(), rq.Name, change, opts)
	if err != nil {
		return err
	}
	if !w.dryRun && !result.Unchanged {
		rq.recordWrite(result)
	}
	answer = rq.fromStored(result.Object)
	if rq.sub != nil && rq.sub.Get != nil {
		if answer, err = rq.sub.Get(answer); err != nil {
			return err
		}
	}
	return rq.writeResult(created(result.Created), answer)
}

// changeToNew returns the object that an update or apply creates.
func (rq *call) changeToNew(ctx context.Context, w write) (runtime.Object, error) {
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
			return nil, apierrors.NewConflict(rq.groupResource(), rq.Name, fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", m.GetUID()))
		}
		return nil, rq.uidMismatch(m.GetUID(), "")
	}
	if _, err := storage.ObjectRevision(m); err != nil {
		return nil, unreadableVersion(err)
	}
	m.SetResourceVersion("")
	rq.dedupOwners(m)
	strategy.Default(rq.row, obj)
	if !w.apply {
		if obj, err = rq.server.fields.TrackCreate(rq.fieldWrite(w.manager), obj); err != nil {
			return nil, err
		}
	}
	if err := rq.admitCreate(ctx, obj, w.dryRun); err != nil {
		return nil, err
	}
	return rq.toStored(obj), nil
}

// changeExisting computes the new state of an existing object. gone reports that the
// object's last finalizer was removed, so that it is to be deleted. A nil object means
// that nothing changes.
func (rq *call) changeExisting(ctx context.Context, w write, old runtime.Object) (obj runtime.Object, gone bool, err error) {
	if obj, err = rq.wanted(ctx, w, old); err != nil {
		return nil, false, err
	}
	if err := rq.checkVersion(obj, old, w.patch); err != nil {
		return nil, false, err
	}
	if m, err := meta.Accessor(obj); err == nil {
		rq.dedupOwners(m)
	}
	strategy.Default(rq.row, obj)
	// As upstream: fields that admission and preparation set have no owner.
	if !w.apply {
		if obj, err = rq.server.fields.TrackUpdate(rq.fieldWrite(w.manager), obj, old); err != nil {
			return nil, false, err
		}
	}
	attributes := rq.attributes(admission.Update, obj, old, w.dryRun)
	if !rq.speaksAnother() {
		if err := rq.server.admission.Mutate(ctx, attributes); err != nil {
			return nil, false, err
		}
	}
	if err := strategy.Update(rq.row, rq.Subresource, obj, old); err != nil {
		return nil, false, err
	}
	if err := strategy.ValidateUpdate(rq.row, rq.Subresource, obj, old, rq.server.opts.Clock.Now()); err != nil {
		return nil, false, err
	}
	rq.warn(obj, old)
	if rq.speaksAnother() {
		if attributes, err = rq.spokenAttributes(obj, old, w.dryRun); err != nil {
			return nil, false, err
		}
	}
	if err := rq.server.admission.Check(ctx, attributes); err != nil {
		return nil, false, err
	}
	return obj, strategy.ReadyToDelete(rq.row, obj), nil
}

// wanted returns the whole object that the client wants, also for a write through a
// subresource.
func (rq *call) wanted(ctx context.Context, w write, old runtime.Object) (runtime.Object, error) {
	if rq.sub == nil || !rq.sub.Writes() {
		return w.make(old)
	}
	current := old
	if rq.sub.Get != nil {
		var err error
		if current, err = rq.sub.Get(old); err != nil {
			return nil, err
		}
	}
	owned := fieldmanager.NewScale(rq.row, rq.sub, old)
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
		attributes := rq.attributes(admission.Update, spoken, current, w.dryRun)
		attributes.Kind = rq.kind()
		if err := rq.server.admission.Mutate(ctx, attributes); err != nil {
			return nil, err
		}
	}
	parent := old.DeepCopyObject()
	if err := rq.sub.WriteInto(parent, spoken, rq.server.opts.Clock.Now()); err != nil {
		return nil, err
	}
	if w.apply {
		if err := owned.Keep(parent, spoken); err != nil {
			return nil, err
		}
	}
	// The resourceVersion that the client saw is in the object that it sent.
	if sent, err := meta.Accessor(spoken); err == nil {
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
func (rq *call) checkVersion(obj, old runtime.Object, patch bool) error {
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
		if !rq.row.Strategy.ForbidUnconditionalUpdate {
			// Without a resourceVersion, the update replaces any state.
			m.SetResourceVersion(o.GetResourceVersion())
			return nil
		}
		// Upstream puts the resource here where other errors have the kind.
		resource := schema.GroupKind{Group: rq.row.Group, Kind: rq.row.Plural}
		return apierrors.NewInvalid(resource, rq.Name, field.ErrorList{field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	}
	if _, err := storage.ObjectRevision(m); err != nil {
		return unreadableVersion(err)
	}
	return storage.Conflict(rq.groupResource(), rq.Name)
}

// uidMismatch returns the error for an update of an object that has been replaced by
// another of the same name, with the text of upstream's store.
func (rq *call) uidMismatch(wanted, actual types.UID) error {
	return apierrors.NewConflict(rq.groupResource(), rq.Name, fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %v, UID in object meta: %v", rq.key(), wanted, actual))
}
