package apiserver

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/nodeauthorizer"
	"minikcm.dev/minikcm/apiserver/rbac/policy"
)

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
