package plugins

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/admission/imagepolicy"
	"minikcm.dev/minikcm/apiserver/internal/admission/podsecurity"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
	"minikcm.dev/minikcm/apiserver/internal/watchcache"
)

// tolerationSeconds is how long a Pod stays on an unreachable node by default, as
// upstream.
const tolerationSeconds = 300

// namespace returns a namespace, as new as the store's, or a NotFound error.
func (h *Host) namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return storage.Lookup[*corev1.Namespace](ctx, h.core("namespaces"), "", name)
}

// node returns a node or a NotFound error.
func (h *Host) node(ctx context.Context, name string) (*corev1.Node, error) {
	return storage.Lookup[*corev1.Node](ctx, h.core("nodes"), "", name)
}

func (h *Host) newNamespaceLifecycle() any {
	namespaces := h.core("namespaces")
	return admission.NamespaceLifecycle{
		Get: h.namespace,
		Stored: func(ctx context.Context, name string) (*corev1.Namespace, error) {
			return storage.Get[*corev1.Namespace](ctx, namespaces, "", name)
		},
		Key: func(name string) string { return namespaces.Key("", name) },
	}
}

func (h *Host) newAutoProvision() any {
	return admission.NamespaceAutoProvision{Get: h.namespace, Create: func(ctx context.Context, name string) error {
		err := h.CreateOwn(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}}
}

func (h *Host) newLimitRanger() any {
	limits := h.core("limitranges")
	return admission.LimitRanger{In: func(ctx context.Context, namespace string) ([]*corev1.LimitRange, error) {
		return storage.KnownIn[*corev1.LimitRange](ctx, limits, namespace)
	}}
}

func (h *Host) newServiceAccount() any {
	accounts := h.core("serviceaccounts")
	return admission.ServiceAccount{
		Get: func(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
			return storage.Lookup[*corev1.ServiceAccount](ctx, accounts, namespace, name)
		},
		Suffix: func(pod *corev1.Pod) string {
			name := pod.GenerateName
			if name == "" {
				name = pod.Name
			}
			return h.Chance.For("kube-api-access", pod.Namespace, name).Suffix(strategy.GeneratedSuffix)
		},
	}
}

func (h *Host) newPodSecurity(config []byte) (any, error) {
	pods := h.core("pods")
	return podsecurity.New(podsecurity.Options{
		Config: config, Namespace: h.namespace,
		Pods: func(ctx context.Context, namespace string) ([]*corev1.Pod, error) {
			return storage.KnownIn[*corev1.Pod](ctx, pods, namespace)
		},
	})
}

func (h *Host) newImagePolicy(config []byte) (any, error) {
	return imagepolicy.New(config, h.Clock, h.Logger.WithName("ImagePolicyWebhook"))
}

func (h *Host) newPodNodeSelector(config []byte) (any, error) {
	return admission.NewPodNodeSelector(config, h.namespace)
}

func (h *Host) newPriority() any {
	classes := h.Objects(schedulingv1.SchemeGroupVersion.WithResource("priorityclasses"))
	return admission.Priority{
		Get: func(ctx context.Context, name string) (*schedulingv1.PriorityClass, error) {
			return storage.Lookup[*schedulingv1.PriorityClass](ctx, classes, "", name)
		},
		Default: func(ctx context.Context) (*schedulingv1.PriorityClass, error) {
			return defaultClass(ctx, classes)
		},
	}
}

func (h *Host) newPodTolerations(config []byte) (any, error) {
	return admission.NewPodTolerationRestriction(config, h.namespace)
}

func (h *Host) newEventRateLimit(config []byte) (any, error) {
	return admission.NewEventRateLimit(config, h.Clock)
}

func (h *Host) newDefaultStorageClass() any {
	classes := h.Objects(storagev1.SchemeGroupVersion.WithResource("storageclasses"))
	return admission.DefaultStorageClass{List: func(ctx context.Context) ([]*storagev1.StorageClass, error) {
		return storage.KnownIn[*storagev1.StorageClass](ctx, classes, "")
	}}
}

func (h *Host) newOwnerReferences() any {
	return admission.OwnerReferencesPermissionEnforcement{
		Authorizer: h.Authorizer, Ask: h.Questions,
		Kind: h.Kind,
	}
}

func (h *Host) newClaimResize() any {
	classes := h.Objects(storagev1.SchemeGroupVersion.WithResource("storageclasses"))
	return admission.ClaimResize{Get: func(ctx context.Context, name string) (*storagev1.StorageClass, error) {
		return storage.Lookup[*storagev1.StorageClass](ctx, classes, "", name)
	}}
}

func (h *Host) newRuntimeClass() any {
	classes := h.Objects(nodev1.SchemeGroupVersion.WithResource("runtimeclasses"))
	return admission.RuntimeClass{Get: func(ctx context.Context, name string) (*nodev1.RuntimeClass, error) {
		return storage.Lookup[*nodev1.RuntimeClass](ctx, classes, "", name)
	}}
}

func (h *Host) newDefaultIngressClass() any {
	classes := h.Objects(networkingv1.SchemeGroupVersion.WithResource("ingressclasses"))
	return admission.DefaultIngressClass{List: func(ctx context.Context) ([]*networkingv1.IngressClass, error) {
		return storage.KnownIn[*networkingv1.IngressClass](ctx, classes, "")
	}}
}

func (h *Host) newDeclaredFeatures(_ []byte) (any, error) {
	own, err := version.Parse(h.Version)
	if err != nil {
		return nil, err
	}
	return admission.NodeDeclaredFeatureValidator{Node: h.node, Version: own, Features: nodedeclaredfeatures.DefaultFramework}, nil
}

func (h *Host) newTopologyLabels() any { return admission.PodTopologyLabels{Node: h.node} }

func (h *Host) newPodResize() any { return admission.PodResizeValidator{Node: h.node} }

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
		class, ok := entry.Object().(*schedulingv1.PriorityClass)
		if ok && class.GlobalDefault && (found == nil || class.Value < found.Value) {
			found = class
		}
	}
	return found, nil
}
