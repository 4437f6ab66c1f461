package decide

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Signer is the name of the signer whose bundles are maintained.
const Signer = "kubernetes.io/kube-apiserver-serving"

// hashBytes is the number of bytes of the hash in a bundle's name.
const hashBytes = 12

// Decision is the writes that the trust bundles need; at most one of Create and Update is set.
type Decision struct {
	Create, Update *certificatesv1.ClusterTrustBundle
	// Delete names the outdated bundles, sorted. They are deleted last.
	Delete []string
}

// TrustBundles returns the writes after which only the bundle for the certificates in ca is
// there. existing are all bundles of the cluster; bundles of other signers are ignored.
func TrustBundles(existing []*certificatesv1.ClusterTrustBundle, ca string) Decision {
	name := nameOf(ca)
	var d Decision
	var current *certificatesv1.ClusterTrustBundle
	for _, bundle := range existing {
		switch {
		case bundle.Spec.SignerName != Signer:
		case bundle.Name == name:
			current = bundle
		default:
			d.Delete = append(d.Delete, bundle.Name)
		}
	}
	slices.Sort(d.Delete)
	switch {
	case current == nil:
		d.Create = &certificatesv1.ClusterTrustBundle{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       certificatesv1.ClusterTrustBundleSpec{SignerName: Signer, TrustBundle: ca},
		}
	case current.Spec.TrustBundle != ca:
		d.Update = current.DeepCopy()
		d.Update.Spec.TrustBundle = ca
	}
	return d
}

// nameOf returns upstream's name of the bundle: the signer's, with a colon for each slash, and
// the beginning of the hash of the certificates.
func nameOf(ca string) string {
	hash := sha256.Sum256([]byte(ca))
	return fmt.Sprintf("%s:%x", strings.ReplaceAll(Signer, "/", ":"), hash[:hashBytes])
}
