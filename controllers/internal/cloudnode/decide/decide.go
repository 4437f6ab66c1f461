package decide

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/simulatedcloud"
)

// IsUninitialized reports whether a Node waits to be initialized.
func IsUninitialized(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, isTaint)
}

func isTaint(t corev1.Taint) bool { return t.Key == simulatedcloud.TaintUninitialized }

// Initialized returns a copy of a Node with the properties of its instance, and without the taint.
// A provider ID that the Node has is kept.
func Initialized(node *corev1.Node, i *simulatedcloud.Instance) *corev1.Node {
	n := node.DeepCopy()
	if n.Spec.ProviderID == "" {
		n.Spec.ProviderID = i.ProviderID
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	for _, l := range []struct{ beta, stable, value string }{
		{corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, i.Type},
		{corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone, i.Zone},
		{corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion, i.Region},
	} {
		if l.value != "" {
			n.Labels[l.beta], n.Labels[l.stable] = l.value, l.value
		}
	}
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, isTaint)
	return n
}

// Labels returns the labels to set on an initialized Node: the stable ones follow the beta ones of
// the same meaning. Nil: nothing has to be set.
func Labels(node *corev1.Node) map[string]string {
	var wrong map[string]string
	for _, l := range []struct{ beta, stable string }{
		{corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone},
		{corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion},
		{corev1.LabelInstanceType, corev1.LabelInstanceTypeStable},
	} {
		value, has := node.Labels[l.beta]
		if stable, same := node.Labels[l.stable]; !has || same && stable == value {
			continue
		}
		if wrong == nil {
			wrong = map[string]string{}
		}
		wrong[l.stable] = value
	}
	return wrong
}

// Addresses returns the addresses of a Node: its instance's addresses, and the host name that its
// kubelet reported. It fails if the kubelet's annotation gives an address that the instance does
// not have.
func Addresses(node *corev1.Node, i *simulatedcloud.Instance) ([]corev1.NodeAddress, error) {
	if provided, stated := node.Annotations[simulatedcloud.AnnotationProvidedIP]; stated && provided != i.Address {
		return nil, fmt.Errorf("failed to get node address from cloud provider that matches ip: %s", provided)
	}
	addresses := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: i.Address}, {Type: corev1.NodeInternalDNS, Address: i.DNSName()}}
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeHostName {
			addresses = append(addresses, a)
		}
	}
	return addresses, nil
}

// SameAddresses reports whether a Node has the addresses, by type.
func SameAddresses(node *corev1.Node, wanted []corev1.NodeAddress) bool {
	if len(node.Status.Addresses) != len(wanted) {
		return false
	}
	for _, a := range wanted {
		if !slices.Contains(node.Status.Addresses, a) {
			return false
		}
	}
	return true
}
