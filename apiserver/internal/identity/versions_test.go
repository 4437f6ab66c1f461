package identity

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/internal/golden"
)

// TestEntries writes the entries of the whole table to testdata/entries.golden.
func TestEntries(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-66s %-36s %-60s %s\n", "name", "encoded", "decoded", "served")
	for _, e := range entries(resources.BuiltinFor(resources.AllFeatures()).All(), "a") {
		fmt.Fprintf(&b, "%-66s %-36s %-60s %s\n", e.name, e.EncodingVersion, strings.Join(e.DecodableVersions, " "), strings.Join(e.ServedVersions, " "))
	}
	golden.Compare(t, "testdata/entries.golden", b.String())
}

// TestReport reports beside another server that writes at the same time.
func TestReport(t *testing.T) {
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	version := func(name string, servers ...string) *apiserverinternalv1alpha1.StorageVersion {
		v := &apiserverinternalv1alpha1.StorageVersion{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, server := range servers {
			v.Status.StorageVersions = append(v.Status.StorageVersions, apiserverinternalv1alpha1.ServerStorageVersion{APIServerID: server, EncodingVersion: "v1"})
		}
		return v
	}
	client := fake.NewClientset(version("core.pods", "b"), version("core.secrets", "a"))
	conflicts, creations := 3, 1
	client.PrependReactor("update", "storageversions", func(clienttesting.Action) (bool, runtime.Object, error) {
		conflicts--
		return conflicts >= 0, nil, apierrors.NewConflict(apiserverinternalv1alpha1.Resource("storageversions"), "x", errors.New("it has changed"))
	})
	client.PrependReactor("create", "storageversions", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if creations--; creations < 0 {
			return false, nil, nil
		}
		name := action.(clienttesting.CreateAction).GetObject().(*apiserverinternalv1alpha1.StorageVersion).Name
		if err := client.Tracker().Add(version(name, "b")); err != nil {
			t.Error(err)
		}
		return true, nil, apierrors.NewAlreadyExists(apiserverinternalv1alpha1.Resource("storageversions"), name)
	})
	rows := resources.Builtin().All()
	r := &Reporter{Client: client, Clock: clocktesting.NewFakeClock(noon), Rows: rows, Server: "a"}
	if err := r.Report(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := client.InternalV1alpha1().StorageVersions().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != len(entries(rows, "a")) {
		t.Fatalf("%d StorageVersions, want %d; %v", len(list.Items), len(entries(rows, "a")), err)
	}
	for i := range list.Items {
		if text := fmt.Sprint(list.Items[i].Status.StorageVersions); !strings.Contains(text, "{a ") {
			t.Errorf("%s has the entries %s", list.Items[i].Name, text)
		}
	}
	writes := len(client.Actions())
	if err := r.Report(t.Context()); err != nil || len(client.Actions()) != writes+1 {
		t.Errorf("a second report: %v, %v", err, client.Actions()[writes:])
	}
}
