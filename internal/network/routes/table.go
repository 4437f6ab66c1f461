package routes

import (
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Table has the rules of a cluster. The zero value is empty. It is not safe for concurrent use.
type Table struct {
	// served are the IngressClasses of Controller.
	served    map[string]bool
	ingresses map[types.NamespacedName]*compiled
	// classes have the rules by the name of the class, whether it is served or not.
	classes map[string]*class
}

// class has the rules of the Ingresses of one class.
type class struct {
	rules, defaults byHost[*paths]
	certificates    byHost[[]*Certificate]
	ingresses       int
}

// SetClass adds or replaces an IngressClass.
func (t *Table) SetClass(c *networkingv1.IngressClass) {
	if c.Spec.Controller != Controller {
		delete(t.served, c.Name)
		return
	}
	if t.served == nil {
		t.served = map[string]bool{}
	}
	t.served[c.Name] = true
}

// DeleteClass removes an IngressClass.
func (t *Table) DeleteClass(name string) { delete(t.served, name) }

// Serves reports whether a class of Controller exists.
func (t *Table) Serves() bool { return len(t.served) > 0 }

// SetIngress adds or replaces an Ingress.
func (t *Table) SetIngress(i *networkingv1.Ingress) {
	key := types.NamespacedName{Namespace: i.Namespace, Name: i.Name}
	t.DeleteIngress(key)
	made := compile(i)
	if t.ingresses == nil {
		t.ingresses, t.classes = map[types.NamespacedName]*compiled{}, map[string]*class{}
	}
	t.ingresses[key] = made
	of := t.classes[made.class]
	if of == nil {
		of = &class{}
		t.classes[made.class] = of
	}
	of.ingresses++
	for _, r := range made.rules {
		add(&of.rules, r)
	}
	for _, r := range made.defaults {
		add(&of.defaults, r)
	}
	for _, c := range made.certificates {
		list, _ := of.certificates.get(c.host)
		at, _ := slices.BinarySearchFunc(list, c, func(a, b *Certificate) int { return before(a.of, b.of) })
		of.certificates.set(c.host, slices.Insert(list, at, c))
	}
}

// DeleteIngress removes an Ingress.
func (t *Table) DeleteIngress(key types.NamespacedName) {
	old := t.ingresses[key]
	if old == nil {
		return
	}
	delete(t.ingresses, key)
	of := t.classes[old.class]
	if of.ingresses--; of.ingresses == 0 {
		delete(t.classes, old.class)
		return
	}
	for _, r := range old.rules {
		remove(&of.rules, r)
	}
	for _, r := range old.defaults {
		remove(&of.defaults, r)
	}
	for _, c := range old.certificates {
		list, _ := of.certificates.get(c.host)
		if list = slices.DeleteFunc(list, func(other *Certificate) bool { return other == c }); len(list) > 0 {
			of.certificates.set(c.host, list)
		} else {
			of.certificates.remove(c.host)
		}
	}
}

func add(to *byHost[*paths], r *Rule) {
	p, ok := to.get(r.Host)
	if !ok {
		p = &paths{}
		to.set(r.Host, p)
	}
	p.add(r)
}

func remove(from *byHost[*paths], r *Rule) {
	if p, ok := from.get(r.Host); ok {
		if p.remove(r); p.empty() {
			from.remove(r.Host)
		}
	}
}

// Decision says where a request is sent, or how the router answers.
type Decision struct {
	// Rule is the rule that decides; nil: none matches.
	Rule *Rule
	// Status is the status of the router's own answer, and Why its reason; 0: the rule's backend answers.
	Status int
	Why    string
}

// Route says what a router does with a request.
func (t *Table) Route(to Router, r *Request) Decision {
	of := t.classes[to.Name]
	if of == nil {
		return Decision{Status: StatusNotFound, Why: fmt.Sprintf("no Ingress has the class %s", to.Name)}
	}
	rule := find(&of.rules, r)
	if rule == nil {
		rule = find(&of.defaults, r)
	}
	switch {
	case rule == nil:
		return Decision{Status: StatusNotFound, Why: fmt.Sprintf("no rule of an Ingress of the class %s matches %s%s", to.Name, r.Host, r.Path)}
	case rule.Backend.Invalid != "":
		return Decision{Rule: rule, Status: StatusServiceUnavailable, Why: rule.Backend.Invalid}
	}
	return Decision{Rule: rule}
}

// find returns the rule for a request; nil if none matches.
func find(in *byHost[*paths], r *Request) *Rule {
	for p := range in.matching(r.Host, false) {
		if rule := p.find(r); rule != nil {
			return rule
		}
	}
	return nil
}

// Certificates returns the Secrets that may have the certificate for a host, the preferred one first.
func (t *Table) Certificates(of Router, host string) []types.NamespacedName {
	var secrets []types.NamespacedName
	if c := t.classes[of.Name]; c != nil {
		for list := range c.certificates.matching(host, false) {
			for _, one := range list {
				secrets = append(secrets, one.Secret)
			}
		}
	}
	return secrets
}

// Named returns the routers that have a rule for a name, sorted: rules for any host do not count.
func (t *Table) Named(name string) []Router {
	var found []Router
	for _, served := range slices.Sorted(maps.Keys(t.served)) {
		of := t.classes[served]
		if of == nil || isAddress(name) {
			continue
		}
		if of.names(name) {
			found = append(found, Router{Name: served})
		}
	}
	return found
}

// names reports whether the class has a rule for a name.
func (c *class) names(name string) bool {
	for _, in := range []*byHost[*paths]{&c.rules, &c.defaults} {
		if _, ok := in.exact[name]; ok {
			return true
		}
		for suffix := range suffixes(name) {
			if _, ok := in.wild[suffix]; ok {
				return true
			}
			break
		}
	}
	return false
}
