package verbs

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
	"minikcm.dev/minikcm/internal/reasons"
)

// Attributes returns the attributes of a write for admission plugins. obj and old are objects of
// the request's kind: a write to a parent through a subresource of another kind is shown to
// admission as a change of that kind.
func (rq *Call) Attributes(op admission.Operation, obj, old runtime.Object, dryRun bool) *admission.Attributes {
	rq.refusal = Refusal{}
	var require admission.Require
	if rq.premises != nil {
		require = rq.premises.Set
	}
	name := rq.Name
	if rq.Verb == request.VerbDeleteCollection {
		name = "" // as upstream: the request names no object
	}
	return &admission.Attributes{
		Operation: op, Resource: rq.Row, Subresource: rq.Subresource, Kind: rq.Kind(), Namespace: rq.Namespace, Name: name,
		User: rq.User, DryRun: dryRun, Options: rq.options, Object: obj, Old: old,
		Warn:  func(text string) { response.Warn(rq.Writer, text) },
		AtEnd: func(ended func()) { rq.atEnd = append(rq.atEnd, ended) }, Require: require,
		Refused: func(by reasons.Refuser, err error) { rq.refusal = Refusal{By: by, Err: err, Object: obj} },
	}
}

// warn sends the kind's warnings about a new or changed object. Components in the
// process do not read warnings.
func (rq *Call) warn(obj, old runtime.Object) {
	if rq.Row.Strategy.Warnings == nil || rq.IsComponent() || rq.Sub != nil {
		return
	}
	for _, text := range rq.Row.Strategy.Warnings(obj, old) {
		response.Warn(rq.Writer, text)
	}
}

// mutateCreate runs a new object through the part of admission that may change it. As upstream,
// it does not have its generated name yet.
func (rq *Call) mutateCreate(ctx context.Context, obj runtime.Object, dryRun bool) error {
	return rq.backend.Admission.Mutate(ctx, rq.Attributes(admission.Create, obj, nil, dryRun))
}

// checkCreate prepares a new object, which has its name, and runs it through validation and the
// rest of admission.
func (rq *Call) checkCreate(ctx context.Context, obj runtime.Object, dryRun bool) error {
	if err := rq.backend.Preparer.Create(rq.Row, obj); err != nil {
		return err
	}
	if err := strategy.ValidateCreate(rq.Row, obj); err != nil {
		return err
	}
	rq.warn(obj, nil)
	return rq.backend.Admission.Check(ctx, rq.Attributes(admission.Create, obj, nil, dryRun))
}

// speaksAnother reports whether the subresource has another kind than its parent (a
// scale). Admission then sees objects of that kind, as upstream.
func (rq *Call) speaksAnother() bool {
	return rq.Sub != nil && rq.Sub.Writes() && rq.Sub.Get != nil && rq.Sub.GroupVersionKind != rq.Row.GroupVersionKind
}

// spokenAttributes returns the attributes for admission with both states of the parent
// converted to the subresource's kind.
func (rq *Call) spokenAttributes(parent, old runtime.Object, dryRun bool) (*admission.Attributes, error) {
	now, err := rq.Sub.ForUpdate(parent)
	if err != nil {
		return nil, err
	}
	before, err := rq.Sub.ForUpdate(old)
	if err != nil {
		return nil, err
	}
	return rq.Attributes(admission.Update, now, before, dryRun), nil
}
