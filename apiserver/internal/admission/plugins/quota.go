package plugins

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/quota"
)

// newQuota returns the ResourceQuota plugin, which must be the last.
func (h *Host) newQuota() *admission.ResourceQuota {
	quotas := h.core("resourcequotas")
	plugin := admission.NewResourceQuota(h.Clock, h.backing())
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

// backing reads the caches. A quota ignores objects that they do not show.
func (h *Host) backing() quota.Backing {
	device := func(plural string) *storage.Objects {
		return h.Objects(resourcev1.SchemeGroupVersion.WithResource(plural))
	}
	classes, claims, pods := device("deviceclasses"), device("resourceclaims"), h.core("pods")
	return quota.Backing{
		Classes: func() []*resourcev1.DeviceClass {
			all, _ := storage.KnownIn[*resourcev1.DeviceClass](context.Background(), classes, "")
			return all
		},
		Claims: func(namespace string) []*resourcev1.ResourceClaim {
			all, _ := storage.KnownIn[*resourcev1.ResourceClaim](context.Background(), claims, namespace)
			return all
		},
		Pod: func(namespace, name string) *corev1.Pod {
			pod, err := storage.Lookup[*corev1.Pod](context.Background(), pods, namespace, name)
			if err != nil {
				return nil
			}
			return pod
		},
	}
}

func errQuotaChanged(name string) error {
	return apierrors.NewConflict(corev1.Resource("resourcequotas"), name, errors.New("the quota has been changed"))
}
