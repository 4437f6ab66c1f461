package routes

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// same returns the rules for the host and path of a rule, in the order in which they decide.
func (t *Table) same(class string, r *Rule) []*Rule {
	if of := t.classes[class]; of != nil {
		if p, ok := of.rules.get(r.Host); ok {
			list, key := p.at(r)
			return (*list)[key]
		}
	}
	return nil
}

// Lost returns the hosts and paths of an Ingress that an earlier rule for the same host and path has.
func (t *Table) Lost(key types.NamespacedName) []string {
	var lost []string
	own := t.ingresses[key]
	if own == nil {
		return nil
	}
	for _, r := range own.rules {
		first := t.same(own.class, r)[0]
		switch {
		case first == r:
			continue
		case first.Object == key:
			lost = append(lost, fmt.Sprintf("%s %s: an earlier rule of this Ingress has this host and path", cmp.Or(r.Host, "any host"), r.Path))
		default:
			lost = append(lost, fmt.Sprintf("%s %s: Ingress %s, which is older or comes first by name, has this host and path", cmp.Or(r.Host, "any host"), r.Path, first.Object))
		}
	}
	return lost
}

// Outdone returns the other Ingresses of the class that lose a host and path to an Ingress.
func (t *Table) Outdone(key types.NamespacedName) []types.NamespacedName {
	var outdone []types.NamespacedName
	found := map[types.NamespacedName]bool{key: true}
	own := t.ingresses[key]
	if own == nil {
		return nil
	}
	for _, r := range own.rules {
		list := t.same(own.class, r)
		if list[0] != r {
			continue
		}
		for _, other := range list[1:] {
			if !found[other.Object] {
				found[other.Object] = true
				outdone = append(outdone, other.Object)
			}
		}
	}
	return outdone
}
