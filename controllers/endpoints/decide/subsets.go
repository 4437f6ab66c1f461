package decide

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	upstream "k8s.io/endpointslice"
	endpointsliceutil "k8s.io/endpointslice/util"
	"k8s.io/utils/dump"
	utilnet "k8s.io/utils/net"
)

// maxAddresses caps the addresses in an Endpoints object.
const maxAddresses = 1000

// subsetsOf returns the service's endpoints: the ready and not ready addresses of its pods,
// grouped by the ports that they serve. The order is that of upstream's controller.
func subsetsOf(service *corev1.Service, pods []*corev1.Pod) []corev1.EndpointSubset {
	groups := map[string]*corev1.EndpointSubset{}
	for _, pod := range pods {
		if !endpointsliceutil.ShouldPodBeInEndpoints(pod, service.Spec.PublishNotReadyAddresses) {
			continue
		}
		address, ok := addressOf(service, pod)
		if !ok {
			continue
		}
		ports := portsOf(service, pod)
		if len(ports) == 0 && !isPortless(service) {
			continue
		}
		key := groupKey(ports)
		group, known := groups[key]
		if !known {
			group = &corev1.EndpointSubset{Ports: ports}
			groups[key] = group
		}
		if service.Spec.PublishNotReadyAddresses || endpointsliceutil.IsPodReady(pod) {
			group.Addresses = append(group.Addresses, address)
		} else {
			group.NotReadyAddresses = append(group.NotReadyAddresses, address)
		}
	}
	return sortSubsets(groups)
}

// isPortless reports whether the service only resolves names.
func isPortless(service *corev1.Service) bool {
	return len(service.Spec.Ports) == 0 && service.Spec.ClusterIP == corev1.ClusterIPNone
}

// addressOf returns the pod's address of the service's first IP family; false if it has
// none.
func addressOf(service *corev1.Service, pod *corev1.Pod) (corev1.EndpointAddress, bool) {
	ipv6 := utilnet.IsIPv6String(service.Spec.ClusterIP)
	if len(service.Spec.IPFamilies) > 0 {
		ipv6 = service.Spec.IPFamilies[0] == corev1.IPv6Protocol
	} else if service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone {
		ipv6 = utilnet.IsIPv6String(pod.Status.PodIP)
	}
	ips := pod.Status.PodIPs
	if len(ips) == 0 {
		ips = []corev1.PodIP{{IP: pod.Status.PodIP}}
	}
	for _, ip := range ips {
		if ip.IP == "" || utilnet.IsIPv6String(ip.IP) != ipv6 {
			continue
		}
		address := corev1.EndpointAddress{
			IP:        ip.IP,
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		}
		if pod.Spec.NodeName != "" {
			address.NodeName = &pod.Spec.NodeName
		}
		if endpointsliceutil.ShouldSetHostname(pod, service) {
			address.Hostname = pod.Spec.Hostname
		}
		return address, true
	}
	return corev1.EndpointAddress{}, false
}

// portsOf returns the service's ports as the pod serves them, without those whose target
// the pod does not have.
func portsOf(service *corev1.Service, pod *corev1.Pod) []corev1.EndpointPort {
	var ports []corev1.EndpointPort
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		number, err := upstream.FindPort(pod, port)
		if err != nil {
			continue
		}
		served := corev1.EndpointPort{
			Name: port.Name, Port: int32(number), Protocol: port.Protocol, AppProtocol: port.AppProtocol,
		}
		if !slices.ContainsFunc(ports, func(other corev1.EndpointPort) bool { return samePort(other, served) }) {
			ports = append(ports, served)
		}
	}
	return ports
}

func samePort(a, b corev1.EndpointPort) bool {
	return a.Name == b.Name && a.Port == b.Port && a.Protocol == b.Protocol
}

func groupKey(ports []corev1.EndpointPort) string {
	var b strings.Builder
	for _, port := range ports {
		fmt.Fprintf(&b, "%q %d %s,", port.Name, port.Port, port.Protocol)
	}
	return b.String()
}

func sortSubsets(groups map[string]*corev1.EndpointSubset) []corev1.EndpointSubset {
	subsets := make([]corev1.EndpointSubset, 0, len(groups))
	for _, group := range groups {
		slices.SortFunc(group.Addresses, compareAddresses)
		slices.SortFunc(group.NotReadyAddresses, compareAddresses)
		sortByHash(group.Ports)
		subsets = append(subsets, *group)
	}
	sortByHash(subsets)
	return subsets
}

func compareAddresses(a, b corev1.EndpointAddress) int {
	return cmp.Or(cmp.Compare(a.IP, b.IP), cmp.Compare(a.TargetRef.UID, b.TargetRef.UID))
}

// sortByHash sorts by hash, as upstream does, so that both list the same object in the same
// order. The order has no meaning that clients could rely on.
func sortByHash[T any](items []T) {
	if len(items) < 2 {
		return
	}
	type hashed struct {
		hash [md5.Size]byte
		item T
	}
	all := make([]hashed, len(items))
	for i, item := range items {
		all[i] = hashed{md5.Sum([]byte(dump.ForHash(item))), item} // upstream's hash, not for security
	}
	slices.SortFunc(all, func(a, b hashed) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	for i := range all {
		items[i] = all[i].item
	}
}

// truncate reduces the subsets to maxAddresses, ready addresses first, each subset in
// proportion. It reports whether it removed any.
func truncate(subsets []corev1.EndpointSubset) bool {
	ready, notReady := 0, 0
	for i := range subsets {
		ready += len(subsets[i].Addresses)
		notReady += len(subsets[i].NotReadyAddresses)
	}
	if ready+notReady <= maxAddresses {
		return false
	}
	readyLeft := min(ready, maxAddresses)
	notReadyLeft := min(notReady, maxAddresses-readyLeft)
	share := func(have, all, room int, left *int) int {
		if all == 0 {
			return 0
		}
		n := min(int(math.Round(float64(have)*float64(room)/float64(all))), *left)
		*left -= n
		return n
	}
	readyRoom, notReadyRoom := readyLeft, notReadyLeft
	for i := range subsets {
		s := &subsets[i]
		s.Addresses = s.Addresses[:share(len(s.Addresses), ready, readyRoom, &readyLeft)]
		s.NotReadyAddresses = s.NotReadyAddresses[:share(len(s.NotReadyAddresses), notReady, notReadyRoom, &notReadyLeft)]
	}
	return true
}
