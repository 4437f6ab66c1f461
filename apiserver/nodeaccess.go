package apiserver

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/nodeauthorizer"
	"minikcm.dev/minikcm/apiserver/internal/rbac"
	"minikcm.dev/minikcm/apiserver/internal/rbac/policy"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/transport"
	"minikcm.dev/minikcm/internal/auth"
)

// KubeletsUser is the user of the simulated kubelets' requests that are about no single node:
// it lists the nodes and pods that this process takes over from another, and registers the nodes
// whose labels a kubelet must not set itself. Only clients in the process can be it.
const KubeletsUser = "system:minikcm:kubelets"

// MayRegister reports whether a kubelet may register a Node with these labels (NodeRestriction).
func MayRegister(node *corev1.Node) bool {
	return len(admission.ForbiddenNodeLabels(node.Labels, nil)) == 0
}

// kubeletsRole gives KubeletsUser its permissions, in every mode of authorization. On a cluster of
// machines, an administrator and the machines themselves make these requests.
type kubeletsRole struct{ rules *rbac.Rules }

func newKubeletsRole() kubeletsRole {
	return kubeletsRole{rbac.NewRules([]rbacv1.PolicyRule{
		{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"nodes", "pods"}},
		{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"nodes"}},
	})}
}

// Authorize implements auth.Authorizer.
func (r kubeletsRole) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, string, error) {
	if a.User.Name == KubeletsUser && transport.IsLocal(ctx) && r.rules.Allow(&a) {
		return auth.Allow, "", nil
	}
	return auth.NoOpinion, "", nil
}

// RulesFor implements auth.Authorizer.
func (kubeletsRole) RulesFor(context.Context, *auth.User, string) (auth.Rules, error) {
	return auth.Rules{}, nil
}

// newNodeAuthorizer returns the authorizer of the mode Node.
func (s *Server) newNodeAuthorizer() *nodeauthorizer.Authorizer {
	source := func(resource schema.GroupVersionResource) nodeauthorizer.Source {
		objects := s.stored[resource]
		return nodeauthorizer.Source{
			Version: objects.Version,
			Changes: func(ctx context.Context, since int64) (nodeauthorizer.Changes, error) {
				changes, err := objects.ChangesSince(ctx, since)
				if err != nil {
					return nodeauthorizer.Changes{}, err
				}
				return nodeauthorizer.Changes{All: changes.All, Each: changes.Each, Revision: changes.Revision}, nil
			},
		}
	}
	return nodeauthorizer.New(nodeauthorizer.Sources{
		Pods:                   source(corev1.SchemeGroupVersion.WithResource("pods")),
		PersistentVolumes:      source(corev1.SchemeGroupVersion.WithResource("persistentvolumes")),
		VolumeAttachments:      source(storagev1.SchemeGroupVersion.WithResource("volumeattachments")),
		ResourceSlices:         source(resourcev1.SchemeGroupVersion.WithResource("resourceslices")),
		PodCertificateRequests: source(certificatesv1.SchemeGroupVersion.WithResource("podcertificaterequests")),
	}, policy.NodeRules())
}

// nodeRestriction returns the plugin that limits kubelets to the objects of their node.
func (s *Server) nodeRestriction() admission.NodeRestriction {
	claims, volumes := s.storedCore("persistentvolumeclaims"), s.storedCore("persistentvolumes")
	drivers := s.stored[storagev1.SchemeGroupVersion.WithResource("csidrivers")]
	objects := tokenObjects{s}
	return admission.NodeRestriction{
		Authorizer: s.opts.Authorizer, Node: objects.Node, Pod: objects.Pod, Account: objects.ServiceAccount,
		Claim: func(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
			return storage.Lookup[*corev1.PersistentVolumeClaim](ctx, claims, namespace, name)
		},
		Volume: func(ctx context.Context, name string) (*corev1.PersistentVolume, error) {
			return storage.Lookup[*corev1.PersistentVolume](ctx, volumes, "", name)
		},
		Driver: func(ctx context.Context, name string) (*storagev1.CSIDriver, error) {
			return storage.Lookup[*storagev1.CSIDriver](ctx, drivers, "", name)
		},
		OwnAudiences: func() []string { return s.tokens.Audiences() },
	}
}
