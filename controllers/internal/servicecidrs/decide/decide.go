package decide

import (
	"net/netip"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// finalizer is upstream's finalizer, and managedBy the label value of the IPAddresses that
// the apiserver manages.
const (
	finalizer = "networking.k8s.io/service-cidr-finalizer"
	managedBy = "ipallocator.k8s.io"
)

// deletionGrace is the time for which an unneeded ServiceCIDR is kept, so that no apiserver
// still allocates an address from it; upstream's.
const deletionGrace = 10 * time.Second

// Decision is the decision about a ServiceCIDR. The zero value changes nothing.
type Decision struct {
	// Finalizers are the finalizers to write if SetFinalizers is true.
	Finalizers    []string
	SetFinalizers bool
	// Condition is the condition Ready to write; nil: it does not change.
	Condition *metav1.Condition
	// Wait is the delay until the next decision without an event; 0: none is needed.
	Wait time.Duration
}

// ServiceCIDR returns the decision about cidr. all are all ServiceCIDRs, including cidr, and ips
// all IPAddresses.
func ServiceCIDR(cidr *networkingv1.ServiceCIDR, all []*networkingv1.ServiceCIDR, ips []*networkingv1.IPAddress, now time.Time) Decision {
	has := slices.Contains(cidr.Finalizers, finalizer)
	if cidr.DeletionTimestamp == nil {
		d := Decision{Condition: ready(cidr, metav1.ConditionTrue, "", "Kubernetes Service CIDR is ready", now)}
		if !has {
			d.SetFinalizers, d.Finalizers = true, append(slices.Clone(cidr.Finalizers), finalizer)
		}
		return d
	}
	if !has {
		return Decision{}
	}
	if needed(cidr, all, ips) {
		return Decision{Condition: ready(cidr, metav1.ConditionFalse, networkingv1.ServiceCIDRReasonTerminating,
			"There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR", now)}
	}
	if wait := deletionGrace - now.Sub(cidr.DeletionTimestamp.Time); wait > 0 {
		return Decision{Wait: wait}
	}
	rest := slices.DeleteFunc(slices.Clone(cidr.Finalizers), func(f string) bool { return f == finalizer })
	return Decision{SetFinalizers: true, Finalizers: rest}
}

// ready returns the condition, or nil if the status has it already.
func ready(cidr *networkingv1.ServiceCIDR, status metav1.ConditionStatus, reason, message string, now time.Time) *metav1.Condition {
	current := meta.FindStatusCondition(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	if current != nil && current.Status == status && current.Reason == reason && current.Message == message {
		return nil
	}
	return &metav1.Condition{
		Type: networkingv1.ServiceCIDRConditionReady, Status: status, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(now),
	}
}

// needed reports whether an address would belong to no ServiceCIDR without this one.
func needed(cidr *networkingv1.ServiceCIDR, all []*networkingv1.ServiceCIDR, ips []*networkingv1.IPAddress) bool {
	if hasParent(cidr, all) {
		return false
	}
	for _, address := range ips {
		ip, err := netip.ParseAddr(address.Name)
		if err != nil || address.Labels[networkingv1.LabelManagedBy] != managedBy || !Contains(cidr, ip) {
			continue
		}
		if !slices.ContainsFunc(all, func(other *networkingv1.ServiceCIDR) bool { return other.Name != cidr.Name && Contains(other, ip) }) {
			return true
		}
	}
	return false
}

// hasParent reports whether each network of the ServiceCIDR lies within one of another
// ServiceCIDR.
func hasParent(cidr *networkingv1.ServiceCIDR, all []*networkingv1.ServiceCIDR) bool {
	for _, network := range networks(cidr) {
		within := func(other *networkingv1.ServiceCIDR) bool {
			return other.Name != cidr.Name && slices.ContainsFunc(networks(other), func(larger netip.Prefix) bool {
				return larger.Overlaps(network) && larger.Bits() <= network.Bits()
			})
		}
		if !slices.ContainsFunc(all, within) {
			return false
		}
	}
	return true
}

func networks(cidr *networkingv1.ServiceCIDR) []netip.Prefix {
	var found []netip.Prefix
	for _, text := range cidr.Spec.CIDRs {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			found = append(found, prefix.Masked())
		}
	}
	return found
}

// Contains reports whether a Service's address can be allocated from the ServiceCIDR. The
// network address and, for IPv4, the broadcast address cannot.
func Contains(cidr *networkingv1.ServiceCIDR, ip netip.Addr) bool {
	return slices.ContainsFunc(networks(cidr), func(network netip.Prefix) bool {
		if !network.Contains(ip) || ip == network.Addr() {
			return false
		}
		// The address after the broadcast address is outside of the network.
		return !ip.Is4() || network.Contains(ip.Next())
	})
}

// Overlap reports whether two ServiceCIDRs have addresses in common.
func Overlap(a, b *networkingv1.ServiceCIDR) bool {
	return slices.ContainsFunc(networks(a), func(x netip.Prefix) bool {
		return slices.ContainsFunc(networks(b), x.Overlaps)
	})
}
