package decide

import (
	"bytes"
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

// isPortless reports whether the service only resolves names.
func isPortless(service *corev1.Service) bool {
	return len(service.Spec.Ports) == 0 && service.Spec.ClusterIP == corev1.ClusterIPNone
}

// memberOf returns the pod with its address of the service's first IP family; false if it has
// none.
func memberOf(service *corev1.Service, pod *corev1.Pod) (member, bool) {
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
		m := member{ip: ip.IP, uid: pod.UID, name: pod.Name, node: pod.Spec.NodeName}
		if endpointsliceutil.ShouldSetHostname(pod, service) {
			m.hostname = pod.Spec.Hostname
		}
		return m, true
	}
	return member{}, false
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

// shares returns how many addresses of each group are listed, if there are more than
// maxAddresses: ready addresses first, each group in proportion.
func shares(groups []*subset) (ready, notReady []int, over bool) {
	var allReady, allNotReady int
	for _, g := range groups {
		ready, notReady = append(ready, g.ready.Len()), append(notReady, g.notReady.Len())
		allReady += g.ready.Len()
		allNotReady += g.notReady.Len()
	}
	if allReady+allNotReady <= maxAddresses {
		return ready, notReady, false
	}
	readyRoom := min(allReady, maxAddresses)
	reduce(ready, allReady, readyRoom)
	reduce(notReady, allNotReady, min(allNotReady, maxAddresses-readyRoom))
	return ready, notReady, true
}

func reduce(have []int, all, room int) {
	left := room
	for i := range have {
		if all == 0 {
			return
		}
		have[i] = min(int(math.Round(float64(have[i])*float64(room)/float64(all))), left)
		left -= have[i]
	}
}
