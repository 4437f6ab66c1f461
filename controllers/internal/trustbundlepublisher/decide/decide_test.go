package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// published is the name of the bundle whose certificates are "CA": the hash was computed with
// sha256sum.
const published = "kubernetes.io:kube-apiserver-serving:4b650e5c4785025dee7bd65e"

func bundle(name, signer, ca string) *certificatesv1.ClusterTrustBundle {
	return &certificatesv1.ClusterTrustBundle{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "7"},
		Spec:       certificatesv1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: ca},
	}
}

func TestTrustBundles(t *testing.T) {
	fresh := bundle(published, Signer, "CA")
	fresh.ResourceVersion = ""
	type bundles = []*certificatesv1.ClusterTrustBundle
	for name, test := range map[string]struct {
		existing bundles
		want     Decision
	}{
		"none":               {nil, Decision{Create: fresh}},
		"nothing to do":      {bundles{bundle(published, Signer, "CA")}, Decision{}},
		"changed":            {bundles{bundle(published, Signer, "other")}, Decision{Update: bundle(published, Signer, "CA")}},
		"outdated":           {bundles{bundle("b", Signer, "1"), bundle("a", Signer, "CA"), bundle(published, Signer, "CA")}, Decision{Delete: []string{"a", "b"}}},
		"outdated only":      {bundles{bundle("a", Signer, "1")}, Decision{Create: fresh, Delete: []string{"a"}}},
		"of other signers":   {bundles{bundle("a", "example.com/a", "CA"), bundle(published, Signer, "CA")}, Decision{}},
		"of no signer":       {bundles{bundle("a", "", "CA"), bundle(published, Signer, "CA")}, Decision{}},
		"changed and others": {bundles{bundle(published, Signer, ""), bundle("a", Signer, "")}, Decision{Update: bundle(published, Signer, "CA"), Delete: []string{"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, TrustBundles(test.existing, "CA")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
