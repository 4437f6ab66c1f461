package containers

import (
	"context"
	"encoding/pem"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
)

// Bundles returns the ClusterTrustBundles of a projection: the named one, or the signer's bundles
// that match the selector, in the order of their names. Without a selector, none of them matches
// (KEP-3257).
func (rt *Runtime) Bundles(ctx context.Context, source *corev1.ClusterTrustBundleProjection) ([]certificatesv1.ClusterTrustBundle, error) {
	client := rt.opts.Client.CertificatesV1().ClusterTrustBundles()
	if source.Name != nil {
		bundle, err := client.Get(ctx, *source.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading a trust bundle: %w", err)
		}
		return []certificatesv1.ClusterTrustBundle{*bundle}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(source.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("the label selector of a trust bundle projection: %w", err)
	}
	if source.SignerName == nil || source.LabelSelector == nil {
		return nil, nil
	}
	list, err := client.List(ctx, metav1.ListOptions{
		LabelSelector: selector.String(),
		FieldSelector: fields.OneTermEqualSelector("spec.signerName", *source.SignerName).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("listing the trust bundles of %s: %w", *source.SignerName, err)
	}
	return list.Items, nil
}

// fillBundle writes the distinct certificates of a projection's ClusterTrustBundles, in the order
// of the bundles' names. Upstream's kubelet shuffles them.
func (in *Ref) fillBundle(ctx context.Context, tree *memfs.Tree, source *corev1.ClusterTrustBundleProjection, mode *int32) error {
	found, err := in.runtime.Bundles(ctx, source)
	if err != nil {
		return err
	}
	var anchors []byte
	written := map[string]bool{}
	for i := range found {
		for block, rest := pem.Decode([]byte(found[i].Spec.TrustBundle)); block != nil; block, rest = pem.Decode(rest) {
			if !written[string(block.Bytes)] {
				written[string(block.Bytes)] = true
				anchors = append(anchors, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes})...)
			}
		}
	}
	tree.Put(source.Path, permOf(nil, mode), anchors)
	return nil
}
