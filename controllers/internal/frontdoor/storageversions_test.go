package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/internal/members"
	"minikcm.dev/minikcm/minikcmtest"
)

// versionText writes a StorageVersion as the versions of each entry, encoding: decodable; served, and what is common.
// The server with the ID self is written as self.
func versionText(v *apiserverinternalv1alpha1.StorageVersion, self string) string {
	var parts []string
	for _, e := range v.Status.StorageVersions {
		parts = append(parts, fmt.Sprintf("%s %s: %s; %s", strings.Replace(e.APIServerID, self, "self", 1),
			e.EncodingVersion, strings.Join(e.DecodableVersions, " "), strings.Join(e.ServedVersions, " ")))
	}
	if v.Status.CommonEncodingVersion != nil {
		parts = append(parts, "common "+*v.Status.CommonEncodingVersion)
	}
	for _, c := range v.Status.Conditions {
		parts = append(parts, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
	}
	return strings.Join(parts, ", ")
}

// eventuallyVersion waits for the text of a StorageVersion.
func eventuallyVersion(c *minikcmtest.Cluster, name, self, want string) {
	c.Eventually(name, func(ctx context.Context, client kubernetes.Interface) error {
		v, err := client.InternalV1alpha1().StorageVersions().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := versionText(v, self); got != want {
			return errors.New("it is " + got)
		}
		return nil
	})
}

// identityOf returns the only identity Lease.
func identityOf(t *testing.T, c *minikcmtest.Cluster) *coordinationv1.Lease {
	t.Helper()
	leases, err := c.Client().CoordinationV1().Leases(members.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: members.Selector})
	if err != nil || len(leases.Items) != 1 {
		t.Fatalf("identity Leases: %v, %v", leases, err)
	}
	return &leases.Items[0]
}

// TestStorageVersions reads the API server's StorageVersions, and checks that it keeps its Lease and its
// entries.
func TestStorageVersions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithStorageVersions())
	lease := identityOf(t, c)
	if !strings.HasPrefix(lease.Name, "apiserver-") || !strings.HasPrefix(*lease.Spec.HolderIdentity, lease.Name+"_") || *lease.Spec.LeaseDurationSeconds != 3600 {
		t.Errorf("the Lease %s: %+v", lease.Name, lease.Spec)
	}
	const equal = ", AllEncodingVersionsEqual=True CommonEncodingVersionSet"
	for name, want := range map[string]string{
		"core.pods":                            "self v1: v1; v1, common v1" + equal,
		"core.events":                          "self v1: v1 events.k8s.io/v1; v1, common v1" + equal,
		"apps.deployments":                     "self apps/v1: apps/v1; apps/v1, common apps/v1" + equal,
		"autoscaling.horizontalpodautoscalers": "self autoscaling/v2: autoscaling/v2 autoscaling/v1; autoscaling/v2 autoscaling/v1, common autoscaling/v2" + equal,
		"storagemigration.k8s.io.storageversionmigrations": "self storagemigration.k8s.io/v1beta1: storagemigration.k8s.io/v1 storagemigration.k8s.io/v1beta1; storagemigration.k8s.io/v1, common storagemigration.k8s.io/v1beta1" + equal,
		"apiextensions.k8s.io.customresourcedefinitions":   "self apiextensions.k8s.io/v1beta1: apiextensions.k8s.io/v1 apiextensions.k8s.io/v1beta1; apiextensions.k8s.io/v1, common apiextensions.k8s.io/v1beta1" + equal,
		"apiregistration.k8s.io.apiservices":               "self apiregistration.k8s.io/v1: apiregistration.k8s.io/v1; apiregistration.k8s.io/v1, common apiregistration.k8s.io/v1" + equal,
		"internal.apiserver.k8s.io.storageversions":        "self internal.apiserver.k8s.io/v1alpha1: internal.apiserver.k8s.io/v1alpha1; internal.apiserver.k8s.io/v1alpha1, common internal.apiserver.k8s.io/v1alpha1" + equal,
	} {
		eventuallyVersion(c, name, lease.Name, want)
	}
	versions := c.Client().InternalV1alpha1().StorageVersions()
	for _, name := range []string{"events.k8s.io.events", "authentication.k8s.io.tokenreviews", "core.componentstatuses", "core.bindings"} {
		if _, err := versions.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	all, err := versions.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(ctx, time.Hour); err != nil {
		t.Fatal(err)
	}
	later, err := versions.List(ctx, metav1.ListOptions{})
	if err != nil || len(later.Items) != len(all.Items) {
		t.Fatalf("%d StorageVersions, then %d: %v", len(all.Items), len(later.Items), err)
	}
	for i := range all.Items {
		if all.Items[i].ResourceVersion != later.Items[i].ResourceVersion {
			t.Errorf("%s was written although nothing has changed", all.Items[i].Name)
		}
	}
	if renewed := identityOf(t, c).Spec.RenewTime; c.Clock().Now().Sub(renewed.Time) > 10*time.Second {
		t.Errorf("the Lease was last renewed at %v, it is %v", renewed, c.Clock().Now())
	}
	// A client deletes the Lease: the entries go, and come back after it.
	if err := c.Client().CoordinationV1().Leases(members.Namespace).Delete(ctx, lease.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("core.pods to be gone", func(ctx context.Context, client kubernetes.Interface) error {
		if _, err := client.InternalV1alpha1().StorageVersions().Get(ctx, "core.pods", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	eventuallyVersion(c, "core.pods", lease.Name, "self v1: v1; v1, common v1"+equal)
	identityOf(t, c)
}

// TestStorageVersionsOfOthers is upstream's test of the controller: the entries of API servers without a Lease go, at
// once and when their Leases do.
func TestStorageVersionsOfOthers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithStorageVersions())
	versions, leases := c.Client().InternalV1alpha1().StorageVersions(), c.Client().CoordinationV1().Leases(members.Namespace)
	for _, name := range []string{"id-1", "id-2", "leader"} {
		labels := "{apiserver.kubernetes.io/identity: kube-apiserver}"
		if name == "leader" {
			labels = "{}"
		}
		create(t, leases.Create, fmt.Sprintf(`
metadata: {name: %[1]s, labels: %[2]s}
spec: {holderIdentity: %[1]s, leaseDurationSeconds: 7200, renewTime: %[3]q}`, name, labels, c.Clock().Now().Format(metav1.RFC3339Micro)))
	}
	report := func(name string, entries ...string) error {
		v, err := versions.Create(ctx, &apiserverinternalv1alpha1.StorageVersion{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		for _, e := range entries {
			server, version, _ := strings.Cut(e, "=")
			v.Status.StorageVersions = append(v.Status.StorageVersions, apiserverinternalv1alpha1.ServerStorageVersion{
				APIServerID: server, EncodingVersion: version, DecodableVersions: []string{version},
			})
		}
		if len(entries) == 1 {
			v.Status.CommonEncodingVersion = &v.Status.StorageVersions[0].EncodingVersion
		}
		_, err = versions.UpdateStatus(ctx, v, metav1.UpdateOptions{})
		return err
	}
	gone := func(name string) {
		c.Eventually(name+" to be gone", func(ctx context.Context, client kubernetes.Interface) error {
			if _, err := client.InternalV1alpha1().StorageVersions().Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there: %w", err)
			}
			return nil
		})
	}
	for name, entries := range map[string][]string{
		"test.nobody": {"id-non-exist=v1"}, "test.no-api-server": {"leader=v1"}, "test.two": {"id-1=v1", "id-2=v2"}, "test.three": {"id-1=v1", "id-non-exist=v9", "id-2=v1"},
	} {
		if err := report(name, entries...); err != nil {
			t.Fatal(err)
		}
	}
	gone("test.nobody")
	gone("test.no-api-server")
	const equal = "AllEncodingVersionsEqual=True CommonEncodingVersionSet"
	eventuallyVersion(c, "test.three", "id-1", "self v1: v1; , id-2 v1: v1; , common v1, "+equal)
	eventuallyVersion(c, "test.two", "id-1", "self v1: v1; , id-2 v2: v2; ")
	if err := leases.Delete(ctx, "id-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventuallyVersion(c, "test.two", "id-2", "self v2: v2; , common v2, "+equal)
	eventuallyVersion(c, "test.three", "id-2", "self v1: v1; , common v1, "+equal)
	// The other Lease expires, and the API server deletes it at its next look, within an hour.
	if err := c.Advance(ctx, 3*time.Hour+time.Minute); err != nil {
		t.Fatal(err)
	}
	gone("test.two")
	gone("test.three")
	for entries, want := range map[string]string{"id=V1": "encodingVersion", "id=v1 id=v1": "Duplicate"} {
		if err := report("test.invalid", strings.Fields(entries)...); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s in it", entries, err, want)
		}
		if err := versions.Delete(ctx, "test.invalid", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := report("nogroup"); !apierrors.IsInvalid(err) {
		t.Errorf("a name without a group: %v", err)
	}
}

// TestNoStorageVersions checks that neither the kind nor an identity Lease is there without the gates.
func TestNoStorageVersions(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithNodes(0))
	if _, err := c.Client().InternalV1alpha1().StorageVersions().List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a list: %v", err)
	}
	leases, err := c.Client().CoordinationV1().Leases(members.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: members.Selector})
	if err != nil || len(leases.Items) != 0 {
		t.Errorf("identity Leases: %v, %v", leases, err)
	}
}
