package capacity

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"

	"minikcm.dev/minikcm/internal/dump"
)

// Rejection is an object of a file that the API server refuses in the fork, such as by a quota.
type Rejection struct {
	Object string `json:"object"`
	Error  string `json:"error"`
}

// readFile reads the objects of a file or folder. The error is an InputError.
func readFile(path, namespace string) ([]*unstructured.Unstructured, error) {
	d, err := dump.Read([]string{path}, strings.NewReader(""))
	if err != nil {
		return nil, InputError{err}
	}
	var all []*unstructured.Unstructured
	for o := range d.Objects() {
		o = o.DeepCopy()
		if o.GetNamespace() == "" {
			o.SetNamespace(namespace) // applied removes it from objects without namespaces
		}
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		all = append(all, o)
	}
	return all, nil
}

// applyAll applies objects as kubectl apply does, definitions and namespaces first. Objects that the API
// server refuses are returned.
func (f *Fork) applyAll(ctx context.Context, objects []*unstructured.Unstructured) ([]Rejection, error) {
	var rejected []Rejection
	for _, first := range []bool{true, false} {
		for _, o := range objects {
			kind := o.GetKind()
			if (kind == "CustomResourceDefinition" || kind == "Namespace") != first {
				continue
			}
			err := f.applyOne(ctx, o)
			switch {
			case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsNotFound(err), apierrors.IsConflict(err):
				rejected = append(rejected, Rejection{titleOf(o), err.Error()})
			case err != nil:
				return rejected, fmt.Errorf("applying %s: %w", titleOf(o), err)
			}
		}
	}
	return rejected, nil
}

func titleOf(o *unstructured.Unstructured) string {
	t := Target{Kind: strings.ToLower(o.GetKind()), Namespace: o.GetNamespace(), Name: o.GetName()}
	return t.String()
}

// lastApplied is kubectl apply's annotation with the object as it was applied last.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func (f *Fork) applyOne(ctx context.Context, o *unstructured.Unstructured) error {
	q, err := f.kinds.Resource(o.GroupVersionKind(), o.GetNamespace())
	if err != nil {
		return InputError{err}
	}
	o.SetNamespace(q.Namespace)
	client := f.dynamic.Resource(q.Resource).Namespace(q.Namespace)
	wanted, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	there, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, o, metav1.CreateOptions{FieldManager: fieldManager})
		return err
	}
	if err != nil {
		return err
	}
	return patch(ctx, client, there, wanted)
}

// fieldManager is the field manager of kubectl apply.
const fieldManager = "kubectl-client-side-apply"

// patch changes an object to a wanted one, with the fields removed that were applied before and are not
// wanted any more.
func patch(ctx context.Context, client dynamic.ResourceInterface, there *unstructured.Unstructured, wanted []byte) error {
	before := []byte(there.GetAnnotations()[lastApplied])
	is, err := there.MarshalJSON()
	if err != nil {
		return err
	}
	kind, changes := types.StrategicMergePatchType, []byte(nil)
	typed, err := scheme.Scheme.New(there.GroupVersionKind())
	switch {
	case err == nil:
		var lookup strategicpatch.PatchMetaFromStruct
		if lookup, err = strategicpatch.NewPatchMetaFromStruct(typed); err == nil {
			changes, err = strategicpatch.CreateThreeWayMergePatch(before, wanted, is, lookup, true)
		}
	case runtime.IsNotRegisteredError(err):
		kind = types.MergePatchType
		changes, err = jsonmergepatch.CreateThreeWayJSONMergePatch(before, wanted, is)
	}
	if err != nil || string(changes) == "{}" {
		return err
	}
	_, err = client.Patch(ctx, there.GetName(), kind, changes, metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

// rejections are the outcome of applying a file, as an activity that is done.
type rejections []Rejection

func (rejections) step(context.Context, time.Time) (done bool, err error) { return true, nil }
func (rejections) next(now time.Time) time.Time                           { return now }
func (r rejections) report(to *Report)                                    { to.Rejected = append(to.Rejected, r...) }
