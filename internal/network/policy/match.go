package policy

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// allows returns the first rule that allows the connection; nil if there is none.
func (c *compiled) allows(f *Flow, d direction, other *Peer, namespaces map[string]labels.Set) *Rule {
	for i := range c.rules[d] {
		r := &c.rules[d][i]
		peer := r.peer(other, namespaces)
		if peer == none {
			continue
		}
		if port := r.port(f); port != none {
			return &Rule{Policy: c.ref, Rule: i, Peer: peer, Port: port}
		}
	}
	return nil
}

const (
	// every is the index of a list that is empty and so matches everything.
	every = -1
	// none means that no entry of a list matches.
	none = -2
)

// peer returns the index of the first entry that matches the other end.
func (r *rule) peer(other *Peer, namespaces map[string]labels.Set) int {
	if len(r.peers) == 0 {
		return every
	}
	for i := range r.peers {
		if r.peers[i].matches(other, namespaces) {
			return i
		}
	}
	return none
}

func (p *peer) matches(other *Peer, namespaces map[string]labels.Set) bool {
	if p.block.IsValid() {
		return p.block.Contains(other.Address.Unmap()) && !p.excludes(other.Address).IsValid()
	}
	pod := other.selectable()
	if pod == nil || !p.pods.Matches(labels.Set(pod.Labels)) {
		return false
	}
	if p.namespaces == nil {
		return pod.Namespace == p.own
	}
	of, known := namespaces[pod.Namespace]
	return known && p.namespaces.Matches(of)
}

// excludes returns the first network in except that contains an address of the ipBlock; the zero Prefix if none does.
func (p *peer) excludes(address netip.Addr) netip.Prefix {
	address = address.Unmap()
	if p.block.Contains(address) {
		for _, except := range p.except {
			if except.Contains(address) {
				return except
			}
		}
	}
	return netip.Prefix{}
}

// excluded says which networks in except keep the other end out of the rule's ipBlocks; empty if none does.
func (r *rule) excluded(other *Peer) string {
	var found []string
	for i := range r.peers {
		if except := r.peers[i].excludes(other.Address); except.IsValid() && len(found) < maxReasons {
			found = append(found, fmt.Sprintf("the ipBlock %s has %s in except", r.peers[i].block, except))
		}
	}
	if len(found) == 0 {
		return ""
	}
	return " (" + strings.Join(found, ", ") + ")"
}

// port returns the index of the first entry that matches the port.
func (r *rule) port(f *Flow) int {
	if len(r.ports) == 0 {
		return every
	}
	for i := range r.ports {
		if r.ports[i].matches(f) {
			return i
		}
	}
	return none
}

func (p *port) matches(f *Flow) bool {
	switch {
	case p.protocol != "" && p.protocol != f.Protocol:
		return false
	case p.name != "":
		return f.To.selectable() != nil && hasPort(f.To.Pod, p.name, f.Protocol, f.Port)
	case p.first == 0:
		return true
	}
	return p.first <= f.Port && f.Port <= p.last
}

// hasPort reports whether a container of the pod has a port of that name, protocol and number.
func hasPort(pod *corev1.Pod, name string, protocol corev1.Protocol, number int32) bool {
	for i, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for k := range list {
			if i == 1 && (list[k].RestartPolicy == nil || *list[k].RestartPolicy != corev1.ContainerRestartPolicyAlways) {
				continue // it has ended when the pod serves
			}
			for _, p := range list[k].Ports {
				if p.Name == name && p.ContainerPort == number && (p.Protocol == protocol || p.Protocol == "" && protocol == corev1.ProtocolTCP) {
					return true
				}
			}
		}
	}
	return false
}

// maxReasons bounds the rules of a policy of which a denial speaks.
const maxReasons = 5

// why says why the policy does not allow the connection.
func (c *compiled) why(f *Flow, d direction, other *Peer, namespaces map[string]labels.Set) string {
	name, list := d.String(), "from"
	if d == egress {
		list = "to"
	}
	if len(c.rules[d]) == 0 {
		return "it has no " + name + " rule, and so denies everything"
	}
	var reasons []string
	for i := range c.rules[d] {
		if len(reasons) == maxReasons {
			reasons = append(reasons, fmt.Sprintf("%d more rules do not allow it either", len(c.rules[d])-i))
			break
		}
		r := &c.rules[d][i]
		switch p := r.peer(other, namespaces); {
		case p == none && r.port(f) == none:
			reasons = append(reasons, fmt.Sprintf("%s[%d] has neither the peer in %s%s nor %s in ports", name, i, list, r.excluded(other), portText(f)))
		case p == none:
			reasons = append(reasons, fmt.Sprintf("%s[%d] does not have the peer in %s%s", name, i, list, r.excluded(other)))
		default:
			reasons = append(reasons, fmt.Sprintf("%s[%d] has the peer, but not %s in ports", name, i, portText(f)))
		}
	}
	return strings.Join(reasons, "; ")
}

func portText(f *Flow) string { return fmt.Sprintf("%s %d", f.Protocol, f.Port) }
