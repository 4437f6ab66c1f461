package decide

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

func cidrOf(name string, cidrs ...string) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{finalizer}},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: cidrs},
		Status: networkingv1.ServiceCIDRStatus{Conditions: []metav1.Condition{{
			Type: "Ready", Status: metav1.ConditionTrue, Message: "Kubernetes Service CIDR is ready",
		}}},
	}
}

func deleted(cidr *networkingv1.ServiceCIDR, ago time.Duration) *networkingv1.ServiceCIDR {
	cidr.DeletionTimestamp = &metav1.Time{Time: now.Add(-ago)}
	return cidr
}

func ipOf(name string, labels ...string) *networkingv1.IPAddress {
	by := managedBy
	if len(labels) > 0 {
		by = labels[0]
	}
	return &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{networkingv1.LabelManagedBy: by}}}
}

func TestDecide(t *testing.T) {
	readyNow := &metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Message: "Kubernetes Service CIDR is ready", LastTransitionTime: metav1.NewTime(now)}
	blocked := &metav1.Condition{
		Type: "Ready", Status: metav1.ConditionFalse, Reason: "Terminating", LastTransitionTime: metav1.NewTime(now),
		Message: "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
	}
	fresh := cidrOf("a", "10.0.0.0/24")
	fresh.Finalizers, fresh.Status = []string{"other"}, networkingv1.ServiceCIDRStatus{}
	gone := deleted(cidrOf("a", "10.0.0.0/24"), time.Minute)
	gone.Finalizers = []string{"other"}
	release := Decision{SetFinalizers: true, Finalizers: []string{}}
	for name, tt := range map[string]struct {
		cidr   *networkingv1.ServiceCIDR
		others []*networkingv1.ServiceCIDR
		ips    []*networkingv1.IPAddress
		want   Decision
	}{
		"new":               {fresh, nil, nil, Decision{SetFinalizers: true, Finalizers: []string{"other", finalizer}, Condition: readyNow}},
		"as it should be":   {cidrOf("a", "10.0.0.0/24"), nil, nil, Decision{}},
		"just deleted":      {deleted(cidrOf("a", "10.0.0.0/24"), 4*time.Second), nil, nil, Decision{Wait: 6 * time.Second}},
		"deleted":           {deleted(cidrOf("a", "10.0.0.0/24"), 10*time.Second), nil, nil, release},
		"not ours to hold":  {gone, nil, nil, Decision{}},
		"in use":            {deleted(cidrOf("a", "10.0.0.0/24"), time.Minute), nil, []*networkingv1.IPAddress{ipOf("10.0.0.5")}, Decision{Condition: blocked}},
		"other's address":   {deleted(cidrOf("a", "10.0.0.0/24"), time.Minute), nil, []*networkingv1.IPAddress{ipOf("10.0.0.5", "another")}, release},
		"other address":     {deleted(cidrOf("a", "10.0.0.0/24"), time.Minute), nil, []*networkingv1.IPAddress{ipOf("10.0.1.5")}, release},
		"in another too":    {deleted(cidrOf("a", "10.0.0.0/24"), time.Minute), []*networkingv1.ServiceCIDR{cidrOf("b", "10.0.0.0/28")}, []*networkingv1.IPAddress{ipOf("10.0.0.5")}, release},
		"not in the other":  {deleted(cidrOf("a", "10.0.0.0/24"), time.Minute), []*networkingv1.ServiceCIDR{cidrOf("b", "10.0.0.0/28")}, []*networkingv1.IPAddress{ipOf("10.0.0.15")}, Decision{Condition: blocked}},
		"within another":    {deleted(cidrOf("a", "10.0.0.0/24"), time.Minute), []*networkingv1.ServiceCIDR{cidrOf("b", "10.0.0.0/16")}, []*networkingv1.IPAddress{ipOf("10.0.0.5")}, release},
		"one of two within": {deleted(cidrOf("a", "10.0.0.0/24", "fd00::/64"), time.Minute), []*networkingv1.ServiceCIDR{cidrOf("b", "10.0.0.0/16")}, []*networkingv1.IPAddress{ipOf("fd00::5")}, Decision{Condition: blocked}},
	} {
		t.Run(name, func(t *testing.T) {
			got := ServiceCIDR(tt.cidr, append(slices.Clone(tt.others), tt.cidr), tt.ips, now)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestContains(t *testing.T) {
	cidr := cidrOf("a", "10.0.0.0/30", "fd00::/126")
	for text, want := range map[string]bool{
		"10.0.0.0": false, "10.0.0.1": true, "10.0.0.2": true, "10.0.0.3": false, "10.0.0.4": false,
		"fd00::": false, "fd00::1": true, "fd00::3": true, "fd00::4": false,
	} {
		if got := Contains(cidr, netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
