package controllers_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/rootca"
	"minikcm.dev/minikcm/controllers/internal/trustbundlepublisher"
	"minikcm.dev/minikcm/minikcmtest"
)

const trustSigner = "kubernetes.io/kube-apiserver-serving"

// TestTrustBundleIsPublished compares the bundle with the certificates that namespaces get, deletes it, and
// adds bundles that are not the controller's and must go, or stay.
func TestTrustBundleIsPublished(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime(), minikcmtest.WithControllers(rootca.Name, trustbundlepublisher.Name))
	bundles := c.Client().CertificatesV1().ClusterTrustBundles()
	list := func() (names []string, all []certificatesv1.ClusterTrustBundle) {
		t.Helper()
		if err := c.Advance(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		list, err := bundles.List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names, list.Items
	}
	names, all := list()
	if len(all) != 1 || all[0].Spec.SignerName != trustSigner || !strings.HasPrefix(names[0], "kubernetes.io:kube-apiserver-serving:") {
		t.Fatalf("bundles: %v", all)
	}
	config, err := c.Client().CoreV1().ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	if err != nil || config.Data["ca.crt"] != all[0].Spec.TrustBundle {
		t.Errorf("the bundle has %s, want %v %v", all[0].Spec.TrustBundle, config, err)
	}
	for name, of := range map[string]string{"kubernetes.io:kube-apiserver-serving:old": trustSigner, "example.com:s:a": "example.com/s"} {
		bundle := &certificatesv1.ClusterTrustBundle{ObjectMeta: metav1.ObjectMeta{Name: name}}
		bundle.Spec.SignerName, bundle.Spec.TrustBundle = of, all[0].Spec.TrustBundle
		if _, err := bundles.Create(ctx, bundle, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := bundles.Delete(ctx, names[0], metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"example.com:s:a", names[0]}
	if names, _ := list(); !slices.Equal(names, want) {
		t.Errorf("bundles: %v, want %v", names, want)
	}
}
