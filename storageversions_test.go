package minikcm_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/members"
)

// TestProcessesReportStorageVersions has two processes on one etcd report how they store objects, each under the name
// of its Lease. The entries of a process that ends are removed. Meanwhile all roles run.
func TestProcessesReportStorageVersions(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	all := sharers(t, 2, func(o *minikcm.Options) { o.EnableFeature("StorageVersionAPI") })
	client := all[1].Client()
	leases, err := client.CoordinationV1().Leases(members.Namespace).List(ctx, metav1.ListOptions{LabelSelector: members.Selector})
	if err != nil || len(leases.Items) != 2 {
		t.Fatalf("the Leases of two processes: %v, %v", leases, err)
	}
	versions := client.InternalV1alpha1().StorageVersions()
	list, err := versions.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("StorageVersions: %v, %v", list, err)
	}
	for i := range list.Items {
		servers := map[string]bool{}
		for _, entry := range list.Items[i].Status.StorageVersions {
			servers[entry.APIServerID] = true
		}
		if !servers[leases.Items[0].Name] || !servers[leases.Items[1].Name] || list.Items[i].Status.CommonEncodingVersion == nil {
			t.Errorf("the status of %s: %+v", list.Items[i].Name, list.Items[i].Status)
		}
	}
	untilRoles(ctx, t, all...)
	watch, err := versions.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if err := all[0].Close(); err != nil {
		t.Fatal(err)
	}
	for range list.Items {
		if event, ok := <-watch.ResultChan(); !ok {
			t.Fatalf("the watch has ended: %v, %v", event, ctx.Err())
		}
	}
	left, err := versions.List(ctx, metav1.ListOptions{})
	if err != nil || len(left.Items) != len(list.Items) {
		t.Fatalf("%d StorageVersions are left of %d: %v", len(left.Items), len(list.Items), err)
	}
	for i := range left.Items {
		if n := len(left.Items[i].Status.StorageVersions); n != 1 {
			t.Errorf("%s has %d entries", left.Items[i].Name, n)
		}
	}
}
