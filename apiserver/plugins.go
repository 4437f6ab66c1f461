package apiserver

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/apiserver/strategy"
	"minikcm.dev/minikcm/apiserver/watchcache"
	"minikcm.dev/minikcm/store"
)

// tolerationSeconds is how long a Pod stays on an unreachable node by default, as
// upstream.
const tolerationSeconds = 300

// newAdmission assembles the built-in plugins in upstream's order.
func (s *Server) newAdmission() admission.Chain {
	namespaces := s.stored[corev1.SchemeGroupVersion.WithResource("namespaces")]
	accounts := s.stored[corev1.SchemeGroupVersion.WithResource("serviceaccounts")]
	classes := s.stored[schedulingv1.SchemeGroupVersion.WithResource("priorityclasses")]
	runtimeClasses := s.stored[nodev1.SchemeGroupVersion.WithResource("runtimeclasses")]
	limits := s.stored[corev1.SchemeGroupVersion.WithResource("limitranges")]
	storageClasses := s.stored[storagev1.SchemeGroupVersion.WithResource("storageclasses")]
	ingressClasses := s.stored[networkingv1.SchemeGroupVersion.WithResource("ingressclasses")]
	return admission.NewChain(
		forbidCreate{s},
		admission.NamespaceLifecycle{Get: func(ctx context.Context, name string) (*corev1.Namespace, error) {
			return lookup[*corev1.Namespace](ctx, namespaces, "", name)
		}},
		admission.LimitRanger{In: func(ctx context.Context, namespace string) ([]*corev1.LimitRange, error) {
			return inNamespace[*corev1.LimitRange](ctx, limits, namespace)
		}},
		admission.ServiceAccount{
			Get: func(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
				return lookup[*corev1.ServiceAccount](ctx, accounts, namespace, name)
			},
			Suffix: func(pod *corev1.Pod) string {
				name := pod.GenerateName
				if name == "" {
					name = pod.Name
				}
				return s.chance.For("kube-api-access", pod.Namespace, name).Suffix(strategy.GeneratedSuffix)
			},
		},
		s.nodeRestriction(),
		admission.TaintNodesByCondition{},
		admission.Priority{
			Get: func(ctx context.Context, name string) (*schedulingv1.PriorityClass, error) {
				return lookup[*schedulingv1.PriorityClass](ctx, classes, "", name)
			},
			Default: func(ctx context.Context) (*schedulingv1.PriorityClass, error) {
				return defaultClass(ctx, classes)
			},
		},
		admission.DefaultTolerationSeconds{Seconds: tolerationSeconds},
		admission.DefaultStorageClass{List: func(ctx context.Context) ([]*storagev1.StorageClass, error) {
			return inNamespace[*storagev1.StorageClass](ctx, storageClasses, "")
		}},
		admission.ClaimResize{Get: func(ctx context.Context, name string) (*storagev1.StorageClass, error) {
			return lookup[*storagev1.StorageClass](ctx, storageClasses, "", name)
		}},
		admission.RuntimeClass{Get: func(ctx context.Context, name string) (*nodev1.RuntimeClass, error) {
			return lookup[*nodev1.RuntimeClass](ctx, runtimeClasses, "", name)
		}},
		admission.CertificateRequester{},
		admission.CertificateSigners{Authorizer: s.opts.Authorizer},
		admission.DefaultIngressClass{List: func(ctx context.Context) ([]*networkingv1.IngressClass, error) {
			return inNamespace[*networkingv1.IngressClass](ctx, ingressClasses, "")
		}},
		s.hooks,
		s.escalation(),
		s.newQuota(),
	)
}

// newQuota returns the ResourceQuota plugin, which must be the last.
func (s *Server) newQuota() *admission.ResourceQuota {
	quotas := s.stored[corev1.SchemeGroupVersion.WithResource("resourcequotas")]
	plugin := admission.NewResourceQuota(s.opts.Clock)
	plugin.In = func(ctx context.Context, namespace string) ([]*corev1.ResourceQuota, error) {
		return inNamespace[*corev1.ResourceQuota](ctx, quotas, namespace)
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
	if s.opts.SharedStore {
		plugin.Stored = func(ctx context.Context, namespace string) ([]*corev1.ResourceQuota, error) {
			return storedIn[*corev1.ResourceQuota](ctx, quotas, namespace)
		}
		plugin.Epochs = quotaEpochs{s.opts.Store}
	}
	return plugin
}

func errQuotaChanged(name string) error {
	return apierrors.NewConflict(corev1.Resource("resourcequotas"), name, errors.New("the quota has been changed"))
}

// storedIn returns a namespace's objects of a kind from the store.
func storedIn[T runtime.Object](ctx context.Context, objects *storage.Objects, namespace string) ([]T, error) {
	_, stored, err := objects.ListAt(ctx, objects.Prefix(namespace), store.ListOptions{})
	if err != nil {
		return nil, storage.Translate(err, schema.GroupResource{}, "")
	}
	return ofType[T](stored), nil
}

// ofType returns the objects of one type.
func ofType[T runtime.Object](objects []runtime.Object) []T {
	found := make([]T, 0, len(objects))
	for _, obj := range objects {
		if typed, ok := obj.(T); ok {
			found = append(found, typed)
		}
	}
	return found
}

// inNamespace returns a namespace's objects of a kind, including all writes of this
// process.
func inNamespace[T runtime.Object](ctx context.Context, objects *storage.Objects, namespace string) ([]T, error) {
	known, err := objects.KnownIn(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return ofType[T](known), nil
}

// lookup returns an object from the cache, or from the store if the cache does not have
// it (yet).
func lookup[T runtime.Object](ctx context.Context, objects *storage.Objects, namespace, name string) (T, error) {
	var none T
	key := objects.Key(namespace, name)
	if known, err := objects.Known(ctx, key); err == nil {
		if obj, ok := known.(T); ok {
			return obj, nil
		}
	}
	obj, err := objects.Get(ctx, key, name)
	if err != nil {
		return none, err
	}
	typed, ok := obj.(T)
	if !ok {
		return none, apierrors.NewNotFound(schema.GroupResource{}, name)
	}
	return typed, nil
}

// defaultClass returns the priority class that is the global default, or nil.
func defaultClass(ctx context.Context, objects *storage.Objects) (*schedulingv1.PriorityClass, error) {
	list, err := objects.Cache().List(ctx, watchcache.ListOptions{
		Prefix: objects.Prefix(""), Match: watchcache.Any, Label: labels.Everything(), Field: fields.Everything(),
	})
	if err != nil {
		return nil, err
	}
	var found *schedulingv1.PriorityClass
	for _, entry := range list.Entries {
		class, ok := entry.Object.(*schedulingv1.PriorityClass)
		if ok && class.GlobalDefault && (found == nil || class.Value < found.Value) {
			found = class
		}
	}
	return found, nil
}
