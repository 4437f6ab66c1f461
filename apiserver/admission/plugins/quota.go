package plugins

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/apiserver/storage"
)

// newQuota returns the ResourceQuota plugin, which must be the last.
func (h *Host) newQuota() *admission.ResourceQuota {
	quotas := h.core("resourcequotas")
	plugin := admission.NewResourceQuota(h.Clock)
	plugin.In = func(ctx context.Context, namespace string) ([]*corev1.ResourceQuota, error) {
		return storage.KnownIn[*corev1.ResourceQuota](ctx, quotas, namespace)
	}
	plugin.Save = func(ctx context.Context, counted *corev1.ResourceQuota) error {
		change := func(current runtime.Object) (runtime.Object, error) {
			quota, ok := current.(*corev1.ResourceQuota)
			if !ok || quota.ResourceVersion != counted.ResourceVersion {
				return nil, errQuotaChanged(counted.Name)
			}
			quota = quota.DeepCopy()
			quota.Status.Used = counted.Status.Used
			return quota, nil
		}
		_, err := quotas.Update(ctx, quotas.Key(counted.Namespace, counted.Name), counted.Name, change, storage.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			return nil // a deleted quota limits nothing
		}
		return err
	}
	plugin.Renew = func(ctx context.Context, namespace, name, resourceVersion string) (*corev1.ResourceQuota, error) {
		same := func(current runtime.Object) (runtime.Object, error) {
			quota, ok := current.(*corev1.ResourceQuota)
			if !ok || resourceVersion != "" && quota.ResourceVersion != resourceVersion {
				return nil, errQuotaChanged(name)
			}
			return quota.DeepCopy(), nil
		}
		result, err := quotas.Update(ctx, quotas.Key(namespace, name), name, same, storage.UpdateOptions{Renew: true})
		if err != nil {
			return nil, err
		}
		renewed, ok := result.Object.(*corev1.ResourceQuota)
		if !ok {
			return nil, errQuotaChanged(name)
		}
		return renewed, nil
	}
	if h.SharedStore {
		plugin.Stored = func(ctx context.Context, namespace string) ([]*corev1.ResourceQuota, error) {
			return storage.ListIn[*corev1.ResourceQuota](ctx, quotas, namespace)
		}
		plugin.Epochs = quotaEpochs{h.Store}
	}
	return plugin
}

func errQuotaChanged(name string) error {
	return apierrors.NewConflict(corev1.Resource("resourcequotas"), name, errors.New("the quota has been changed"))
}
