package apiserver

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/apiserver/admission/imagepolicy"
	"minikcm.dev/minikcm/apiserver/admission/podsecurity"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/apiserver/strategy"
)

// tolerationSeconds is how long a Pod stays on an unreachable node by default, as
// upstream.
const tolerationSeconds = 300

// storedAs returns the storage of a resource.
func (s *Server) storedAs(version schema.GroupVersion, plural string) *storage.Objects {
	return s.stored[version.WithResource(plural)]
}

// namespace returns a namespace, as new as the store's, or a NotFound error.
func (s *Server) namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return lookup[*corev1.Namespace](ctx, s.storedAs(corev1.SchemeGroupVersion, "namespaces"), "", name)
}

// node returns a node or a NotFound error.
func (s *Server) node(ctx context.Context, name string) (*corev1.Node, error) {
	return lookup[*corev1.Node](ctx, s.storedAs(corev1.SchemeGroupVersion, "nodes"), "", name)
}

func (s *Server) newNamespaceLifecycle() any {
	namespaces := s.storedAs(corev1.SchemeGroupVersion, "namespaces")
	return admission.NamespaceLifecycle{
		Get: s.namespace,
		Stored: func(ctx context.Context, name string) (*corev1.Namespace, error) {
			return stored[*corev1.Namespace](ctx, namespaces, "", name)
		},
		Key: func(name string) string { return namespaces.Key("", name) },
	}
}

func (s *Server) newAutoProvision() any {
	return admission.NamespaceAutoProvision{Get: s.namespace, Create: func(ctx context.Context, name string) error {
		err := s.createOwn(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}}
}

func (s *Server) newLimitRanger() any {
	limits := s.storedAs(corev1.SchemeGroupVersion, "limitranges")
	return admission.LimitRanger{In: func(ctx context.Context, namespace string) ([]*corev1.LimitRange, error) {
		return inNamespace[*corev1.LimitRange](ctx, limits, namespace)
	}}
}

func (s *Server) newServiceAccount() any {
	accounts := s.storedAs(corev1.SchemeGroupVersion, "serviceaccounts")
	return admission.ServiceAccount{
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
	}
}

func (s *Server) newPodSecurity(config []byte) (any, error) {
	pods := s.storedAs(corev1.SchemeGroupVersion, "pods")
	return podsecurity.New(podsecurity.Options{
		Config: config, Namespace: s.namespace,
		Pods: func(ctx context.Context, namespace string) ([]*corev1.Pod, error) {
			return inNamespace[*corev1.Pod](ctx, pods, namespace)
		},
	})
}

func (s *Server) newImagePolicy(config []byte) (any, error) {
	return imagepolicy.New(config, s.opts.Clock, s.opts.Logger.WithName("ImagePolicyWebhook"))
}

func (s *Server) newPodNodeSelector(config []byte) (any, error) {
	return admission.NewPodNodeSelector(config, s.namespace)
}

func (s *Server) newPriority() any {
	classes := s.storedAs(schedulingv1.SchemeGroupVersion, "priorityclasses")
	return admission.Priority{
		Get: func(ctx context.Context, name string) (*schedulingv1.PriorityClass, error) {
			return lookup[*schedulingv1.PriorityClass](ctx, classes, "", name)
		},
		Default: func(ctx context.Context) (*schedulingv1.PriorityClass, error) {
			return defaultClass(ctx, classes)
		},
	}
}

func (s *Server) newPodTolerations(config []byte) (any, error) {
	return admission.NewPodTolerationRestriction(config, s.namespace)
}

func (s *Server) newEventRateLimit(config []byte) (any, error) {
	return admission.NewEventRateLimit(config, s.opts.Clock)
}

func (s *Server) newDefaultStorageClass() any {
	classes := s.storedAs(storagev1.SchemeGroupVersion, "storageclasses")
	return admission.DefaultStorageClass{List: func(ctx context.Context) ([]*storagev1.StorageClass, error) {
		return inNamespace[*storagev1.StorageClass](ctx, classes, "")
	}}
}

func (s *Server) newOwnerReferences() any {
	return admission.OwnerReferencesPermissionEnforcement{
		Authorizer: s.opts.Authorizer, Ask: s.recorder.Questions(),
		Kind: func(kind schema.GroupVersionKind) *resources.Resource { return s.current().Table.ByKind(kind) },
	}
}

func (s *Server) newClaimResize() any {
	classes := s.storedAs(storagev1.SchemeGroupVersion, "storageclasses")
	return admission.ClaimResize{Get: func(ctx context.Context, name string) (*storagev1.StorageClass, error) {
		return lookup[*storagev1.StorageClass](ctx, classes, "", name)
	}}
}

func (s *Server) newRuntimeClass() any {
	classes := s.storedAs(nodev1.SchemeGroupVersion, "runtimeclasses")
	return admission.RuntimeClass{Get: func(ctx context.Context, name string) (*nodev1.RuntimeClass, error) {
		return lookup[*nodev1.RuntimeClass](ctx, classes, "", name)
	}}
}

func (s *Server) newDefaultIngressClass() any {
	classes := s.storedAs(networkingv1.SchemeGroupVersion, "ingressclasses")
	return admission.DefaultIngressClass{List: func(ctx context.Context) ([]*networkingv1.IngressClass, error) {
		return inNamespace[*networkingv1.IngressClass](ctx, classes, "")
	}}
}

func (s *Server) newDeclaredFeatures(_ []byte) (any, error) {
	// Options.Version is not compared: it is a name, as "v1.37.2+minikcm" may be.
	own, err := version.Parse(DefaultVersion)
	if err != nil {
		return nil, err
	}
	return admission.NodeDeclaredFeatureValidator{Node: s.node, Version: own, Features: nodedeclaredfeatures.DefaultFramework}, nil
}

func (s *Server) newTopologyLabels() any { return admission.PodTopologyLabels{Node: s.node} }

func (s *Server) newPodResize() any { return admission.PodResizeValidator{Node: s.node} }
