package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/scenarios/check"
	"minikcm.dev/minikcm/scenarios/format"
)

// fieldManager owns what scenarios apply.
const fieldManager = "minikcm-scenario"

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (r *run) resource(q check.Query) dynamic.ResourceInterface {
	return r.dynamic.Resource(q.Resource).Namespace(q.Namespace)
}

// named is the client for KIND/NAME, and the name.
func (r *run) named(target, namespace string) (dynamic.ResourceInterface, string, schema.GroupKind, error) {
	kind, name, err := format.SplitTarget(target)
	if err != nil {
		return nil, "", schema.GroupKind{}, err
	}
	q, group, err := r.kinds.Target(kind, namespace)
	if err != nil {
		return nil, "", group, err
	}
	return r.resource(q), name, group, nil
}

// each does something with every object, and compares the outcome with what is
// expected.
func (b *branch) each(a *format.Apply, doing string, do func(client dynamic.ResourceInterface, o *format.Object) error) error {
	for _, o := range a.All() {
		placed, q, err := b.run.kinds.Placed(&o)
		if err == nil {
			err = do(b.run.resource(q), placed)
		}
		switch {
		case a.Fails != "" && err == nil:
			return fmt.Errorf("%s %s: it should fail with %q, and did not", doing, o.Title(), a.Fails)
		case a.Fails != "" && strings.Contains(err.Error(), a.Fails):
			b.note("%s: refused: %v", o.Title(), err)
		case err != nil:
			return fmt.Errorf("%s %s: %w%s", doing, o.Title(), err, b.hintAt(err))
		}
	}
	return nil
}

// hintAt says what to do about a namespace that is not there.
func (b *branch) hintAt(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || b.run.cluster == nil {
		return ""
	}
	if details := status.Status().Details; details == nil || details.Kind != "namespaces" {
		return ""
	}
	return ": the cluster is new, apply a Namespace of that name first"
}

func (b *branch) apply(ctx context.Context, a *format.Apply) error {
	if isDump(a) {
		return b.load(ctx, a)
	}
	return b.each(a, "applying", func(client dynamic.ResourceInterface, o *format.Object) error {
		data, err := o.MarshalJSON()
		if err != nil {
			return fmt.Errorf("encoding it: %w", err)
		}
		_, err = client.Patch(ctx, o.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{
			FieldManager: fieldManager, Force: ptr.To(true), FieldValidation: metav1.FieldValidationStrict,
		})
		return err
	})
}

func (b *branch) create(ctx context.Context, a *format.Apply) error {
	return b.each(a, "creating", func(client dynamic.ResourceInterface, o *format.Object) error {
		_, err := client.Create(ctx, o.DeepCopy(), metav1.CreateOptions{FieldManager: fieldManager, FieldValidation: metav1.FieldValidationStrict})
		return err
	})
}

func (b *branch) patch(ctx context.Context, p *format.Patch) error {
	client, name, kind, err := b.run.named(p.Target, p.Namespace)
	if err != nil {
		return err
	}
	kinds := map[string]types.PatchType{"strategic": types.StrategicMergePatchType, "merge": types.MergePatchType, "json": types.JSONPatchType}
	patchType, known := kinds[p.Type]
	if !known { // a custom resource knows no strategic merge
		patchType = types.MergePatchType
		if scheme.Scheme.IsGroupRegistered(kind.Group) {
			patchType = types.StrategicMergePatchType
		}
	}
	data, err := json.Marshal(p.Patch)
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	var subresources []string
	if p.Subresource != "" {
		subresources = []string{p.Subresource}
	}
	_, err = client.Patch(ctx, name, patchType, data, metav1.PatchOptions{FieldManager: fieldManager, FieldValidation: metav1.FieldValidationStrict}, subresources...)
	if err != nil {
		return fmt.Errorf("patching %s: %w", p.Target, err)
	}
	return nil
}

func (b *branch) scale(ctx context.Context, s *format.Scale) error {
	client, name, _, err := b.run.named(s.Target, s.Namespace)
	if err != nil {
		return err
	}
	data := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, *s.Replicas)
	if _, err := client.Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: fieldManager}, "scale"); err != nil {
		return fmt.Errorf("scaling %s: %w", s.Target, err)
	}
	return nil
}

func (b *branch) delete(ctx context.Context, d *format.Delete) error {
	client, name, _, err := b.run.named(d.Target, d.Namespace)
	if err != nil {
		return err
	}
	names := []string{name}
	if name == "" {
		list, err := client.List(ctx, metav1.ListOptions{LabelSelector: d.Selector})
		if err != nil {
			return fmt.Errorf("listing what is to be deleted: %w", err)
		}
		names = nil
		for i := range list.Items {
			names = append(names, list.Items[i].GetName())
		}
		slices.Sort(names)
	}
	if len(names) == 0 && d.MustExist {
		return errors.New("there is nothing to delete")
	}
	options := deleteOptions(d)
	for _, name := range names {
		err := client.Delete(ctx, name, options)
		switch {
		case apierrors.IsNotFound(err) && !d.MustExist:
			b.note("%s did not exist", name)
		case err != nil:
			return fmt.Errorf("deleting %s: %w", name, err)
		}
	}
	return nil
}

func deleteOptions(d *format.Delete) metav1.DeleteOptions {
	var options metav1.DeleteOptions
	if d.Grace != nil {
		options.GracePeriodSeconds = ptr.To(int64(time.Duration(*d.Grace) / time.Second))
	}
	policies := map[string]metav1.DeletionPropagation{
		"background": metav1.DeletePropagationBackground, "foreground": metav1.DeletePropagationForeground, "orphan": metav1.DeletePropagationOrphan,
	}
	if policy, given := policies[d.Propagation]; given {
		options.PropagationPolicy = &policy
	}
	return options
}
