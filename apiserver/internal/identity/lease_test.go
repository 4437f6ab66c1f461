package identity

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/members"
)

// leaseOf returns an identity Lease that was renewed at a time.
func leaseOf(name string, renewed time.Time, seconds int32) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: members.Namespace, Name: name, Labels: map[string]string{members.IdentityLabel: members.IdentityValue}},
		Spec:       coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: renewed}, LeaseDurationSeconds: ptr.To(seconds)},
	}
}

// TestLease goes through the life of a Lease: it takes the place of an earlier process's, is renewed, created again and
// deleted.
func TestLease(t *testing.T) {
	ctx, noon := t.Context(), time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakeClock(noon)
	old := leaseOf("apiserver-a", noon.Add(-time.Minute), 3600)
	old.Spec.HolderIdentity = ptr.To("apiserver-a_1")
	client := fake.NewClientset(old)
	l := &Lease{Client: client, Clock: clock, Name: "apiserver-a", Hostname: "host", Holder: "apiserver-a_2"}
	look := func(step string) {
		t.Helper()
		lease, err := l.leases().Get(ctx, "apiserver-a", metav1.GetOptions{})
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		want := leaseOf("apiserver-a", clock.Now(), 3600)
		want.Labels["kubernetes.io/hostname"], want.Spec.HolderIdentity = "host", ptr.To("apiserver-a_2")
		if diff := cmp.Diff(want.Labels, lease.Labels) + cmp.Diff(want.Spec, lease.Spec); diff != "" {
			t.Errorf("%s:\n%s", step, diff)
		}
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"taken", func() error { return l.Take(ctx) }},
		{"renewed", func() error { return l.Renew(ctx) }},
		{"deleted and renewed", func() error {
			if err := l.leases().Delete(ctx, l.Name, metav1.DeleteOptions{}); err != nil {
				return err
			}
			return l.Renew(ctx)
		}},
	} {
		clock.Step(RenewInterval)
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		look(step.name)
	}
	for range 2 { // once more without a Lease
		if err := l.Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := l.leases().List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("after the release: %v, %v", list, err)
	}
}

func TestCollect(t *testing.T) {
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	never := leaseOf("never-renewed", noon, 3600)
	never.Spec.RenewTime = nil
	endless := leaseOf("without-duration", noon, 3600)
	endless.Spec.LeaseDurationSeconds = nil
	leader := leaseOf("leader", noon.Add(-3*time.Hour), 15)
	leader.Labels = nil
	client := fake.NewClientset(never, endless, leader,
		leaseOf("fresh", noon.Add(-time.Minute), 3600), leaseOf("just-valid", noon.Add(-time.Hour), 3600), leaseOf("expired", noon.Add(-time.Hour-time.Second), 3600))
	l := &Lease{Client: client, Clock: clocktesting.NewFakeClock(noon), Name: "apiserver-a"}
	if err := l.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := l.leases().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for i := range list.Items {
		left[list.Items[i].Name] = true
	}
	if got, want := strings.Join(slices.Sorted(maps.Keys(left)), " "), "fresh just-valid leader"; got != want {
		t.Errorf("left are %s, want %s", got, want)
	}
}
