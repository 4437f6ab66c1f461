package dump

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Options describe the cluster that a dump is loaded into.
type Options struct {
	// Now is the cluster's time. Times in statuses are shifted so that their ages are those
	// at the time of the dump. The zero time leaves them unchanged.
	Now time.Time
	// Nodes are the names of further nodes that the cluster has or will have, beside the
	// dump's.
	Nodes []string
	// RootsOnly leaves out statuses and the objects that controllers create for other
	// objects. Use it for a cluster whose controllers run during the load.
	RootsOnly bool
}

// fieldManager is the field manager of the loaded objects.
const fieldManager = "minikcm-load"

// Load creates the objects of the dump in the cluster of config. Objects that the API server
// refuses are listed in the summary and are not an error. Load returns an error if the cluster
// cannot be reached or ctx ends, together with the summary up to that point.
func (d *Dump) Load(ctx context.Context, config *rest.Config, opts Options) (*Summary, error) {
	s := &Summary{Sources: d.Sources, Left: append([]Note(nil), d.Skipped...)}
	l, err := newLoader(config, s)
	if err != nil {
		return nil, err
	}
	if taken := d.Taken(); !taken.IsZero() && !opts.Now.IsZero() {
		l.passed = opts.Now.Sub(taken).Truncate(time.Second)
	}
	all := d.plan(&opts, s)
	for _, do := range []func(context.Context, *planned) error{l.create, l.restore, l.remove} {
		for _, p := range all {
			if err := do(ctx, p); err != nil {
				return s, fmt.Errorf("loading %s: %w", nameOf(p.object), err)
			}
		}
	}
	s.sort()
	return s, nil
}

// loader creates objects in order.
type loader struct {
	client  dynamic.Interface
	kinds   kinds
	summary *Summary
	// uids maps the dump's UIDs to the new ones.
	uids map[types.UID]types.UID
	// created are the created objects that restore or remove still needs.
	created map[*planned]*unstructured.Unstructured
	passed  time.Duration
}

func newLoader(config *rest.Config, s *Summary) (*loader, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.UserAgent, config.QPS, config.WarningHandler = fieldManager, -1, rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating the client that loads a dump: %w", err)
	}
	finder, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating the client that loads a dump: %w", err)
	}
	return &loader{
		client: client, kinds: kinds{discovery: finder}, summary: s,
		uids: map[types.UID]types.UID{}, created: map[*planned]*unstructured.Unstructured{},
	}, nil
}

// at returns the client for an object of a kind.
func (l *loader) at(k *kind, o *unstructured.Unstructured) dynamic.ResourceInterface {
	if k.namespaced {
		return l.client.Resource(k.resource).Namespace(o.GetNamespace())
	}
	return l.client.Resource(k.resource)
}

// create creates an object, unless the cluster has one with that name.
func (l *loader) create(ctx context.Context, p *planned) error {
	o := p.object
	k, missing, err := l.kinds.of(o.GroupVersionKind())
	if err != nil {
		return err
	}
	if missing != "" {
		l.summary.Left = note(l.summary.Left, missing, nameOf(o))
		return nil
	}
	if dropOwners(o, l.uids) {
		l.summary.Changed = note(l.summary.Changed, changedOwners, nameOf(o))
	}
	rewire(o.Object, l.uids)
	if isCore(o, "Node") {
		l.shiftNode(o)
	}
	created, err := l.tryCreate(ctx, k, o)
	switch {
	case apierrors.IsAlreadyExists(err):
		return l.exists(ctx, k, p)
	case isRefusal(err):
		l.summary.Refused = append(l.summary.Refused, Refusal{nameOf(o), err.Error()})
		return nil
	case err != nil:
		return err
	}
	if isKind(o, "apiextensions.k8s.io", "CustomResourceDefinition") {
		if err := l.established(ctx, k, created); err != nil {
			return err
		}
		l.kinds.forget()
	}
	l.account(p, created)
	return nil
}

// shiftNode shifts the times of a Node, which is created with its status: the times in its status, and the
// times from which pods may tolerate NoExecute taints.
func (l *loader) shiftNode(node *unstructured.Unstructured) {
	shiftTimes(node.Object["status"], l.passed)
	taints, _, _ := unstructured.NestedFieldNoCopy(node.Object, "spec", "taints")
	list, _ := taints.([]any)
	for _, taint := range list {
		if fields, _ := taint.(map[string]any); fields["effect"] == string(corev1.TaintEffectNoExecute) {
			shiftTimes(fields, l.passed)
		}
	}
}

// account records a created object in the summary and in the loader.
func (l *loader) account(p *planned, created *unstructured.Unstructured) {
	switch {
	case !p.standIn:
		l.summary.loaded(p.object.GetKind())
		if isCore(p.object, "Node") {
			l.summary.Nodes = append(l.summary.Nodes, p.object.GetName())
		}
	case !inEveryCluster(p.object):
		l.summary.Made = note(l.summary.Made, "other objects need it, and the dump does not contain it", nameOf(p.object))
	}
	if p.uid != "" {
		l.uids[p.uid] = created.GetUID()
	}
	if p.status != nil || p.doomed {
		l.created[p] = created
	}
}

// tryCreate creates an object. It removes the addresses and ports of a Service that this
// cluster cannot allocate, so that the API server allocates others. It retries, because the
// API server may report one field at a time.
func (l *loader) tryCreate(ctx context.Context, k *kind, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var dropped []string
	for {
		created, err := l.at(k, o).Create(ctx, o, metav1.CreateOptions{FieldManager: fieldManager})
		if err == nil && len(dropped) > 0 {
			l.summary.Changed = note(l.summary.Changed, changedAddress, nameOf(o)+" ("+joined(dropped)+")")
		}
		if !isCore(o, "Service") || !apierrors.IsInvalid(err) && !apierrors.IsInternalError(err) {
			return created, err
		}
		more := uncluster(o, fieldsOf(err))
		if len(more) == 0 {
			more = uncluster(o, nil)
		}
		if len(more) == 0 {
			return nil, err
		}
		dropped = append(dropped, more...)
	}
}

// fieldsOf returns the fields that a refusal names, if any.
func fieldsOf(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		fields = append(fields, cause.Field)
	}
	return fields
}

// isRefusal reports whether an error is about the object, not a failure of the cluster.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err) ||
		apierrors.IsConflict(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsNotAcceptable(err)
}

// exists handles an object that the cluster already has. A namespace gets the labels and
// annotations of the dump; other objects stay unchanged.
func (l *loader) exists(ctx context.Context, k *kind, p *planned) error {
	o := p.object
	there, err := l.at(k, o).Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	if p.uid != "" {
		l.uids[p.uid] = there.GetUID()
	}
	switch {
	case p.standIn:
		return nil
	case !isCore(o, "Namespace"):
		l.summary.Left = note(l.summary.Left, leftOwn, nameOf(o))
		return nil
	}
	patch := &unstructured.Unstructured{Object: map[string]any{}}
	patch.SetLabels(o.GetLabels())
	patch.SetAnnotations(o.GetAnnotations())
	if len(patch.Object) > 0 {
		data, err := patch.MarshalJSON()
		if err == nil {
			_, err = l.at(k, o).Patch(ctx, o.GetName(), types.MergePatchType, data, metav1.PatchOptions{FieldManager: fieldManager})
		}
		if err != nil {
			return err
		}
	}
	l.summary.loaded(o.GetKind())
	return nil
}

// restore writes the status of an object. It runs after all objects are created, because
// statuses may contain their UIDs.
func (l *loader) restore(ctx context.Context, p *planned) error {
	created := l.created[p]
	if created == nil || p.status == nil {
		return nil
	}
	k, missing, err := l.kinds.of(p.object.GroupVersionKind())
	if err != nil || missing != "" || !k.status {
		return err
	}
	readjust(p.object, p.status, p.generation, created.GetGeneration(), l.passed)
	rewire(p.status, l.uids)
	created.Object["status"] = p.status
	_, err = l.at(k, created).UpdateStatus(ctx, created, metav1.UpdateOptions{FieldManager: fieldManager})
	if isRefusal(err) {
		l.summary.Changed = note(l.summary.Changed, "the API server rejects their status: "+err.Error(), nameOf(created))
		return nil
	}
	return err
}

// remove deletes an object that was being deleted when the dump was taken, so that the
// deletion continues.
func (l *loader) remove(ctx context.Context, p *planned) error {
	created := l.created[p]
	if created == nil || !p.doomed {
		return nil
	}
	k, _, err := l.kinds.of(p.object.GroupVersionKind())
	if err != nil {
		return err
	}
	uid := created.GetUID()
	err = l.at(k, created).Delete(ctx, created.GetName(), metav1.DeleteOptions{GracePeriodSeconds: p.grace, Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
