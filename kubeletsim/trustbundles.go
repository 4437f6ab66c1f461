package kubeletsim

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// bundleKeys is keysOf for the ClusterTrustBundles of a projection.
func (s *supplies) bundleKeys(ctx context.Context, source *corev1.ClusterTrustBundleProjection) (map[string]bool, error) {
	found, err := s.containers.Bundles(ctx, source)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return map[string]bool{}, nil
}

// watchBundles wakes the pods that wait for a bundle, and those that wait for one of its signer.
// They share an informer.
func (s *supplies) watchBundles() error {
	s.watching[ofBundle], s.watching[ofSigner] = true, true
	return s.follow(s.informers.ClusterTrustBundles().Informer(), func(obj any) {
		if bundle, ok := obj.(*certificatesv1.ClusterTrustBundle); ok {
			s.supplied(supply{ofBundle, types.NamespacedName{Name: bundle.Name}})
			s.supplied(supply{ofSigner, types.NamespacedName{Name: bundle.Spec.SignerName}})
		}
	})
}
