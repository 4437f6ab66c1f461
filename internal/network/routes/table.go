package routes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
	// gateways are the served ones.
	gateways map[Router]*Gateway
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
	// Backend is the one of the rule's backends that gets the request.
	Backend *Backend
	// Status is the status of the router's own answer, and Why its reason; 0: the backend answers.
	Status int
	Why    string
}

// Route says what a router does with a request. The random number chooses among the backends of a rule.
func (t *Table) Route(to Router, r *Request, random uint64) Decision {
	d := Decision{}
	if to.Namespace != "" {
		d.Rule, d.Status, d.Why = t.gateways[to].find(r)
	} else if d.Rule, d.Why = t.classes[to.Name].find(r); d.Rule == nil {
		d.Status = StatusNotFound
	}
	if d.Rule == nil {
		d.Why = fmt.Sprintf("%s of the %s matches %s%s", d.Why, to, r.Host, r.Path)
		return d
	}
	if d.Rule.Filters.Redirect != nil {
		return d
	}
	invalid := StatusServiceUnavailable
	if to.Namespace != "" {
		invalid = StatusInternalError
	}
	d.Backend = d.Rule.pick(random)
	switch {
	case d.Backend == nil:
		d.Status, d.Why = StatusInternalError, "the rule has no backend with a weight"
	case d.Backend.Invalid != "":
		d.Status, d.Why = invalid, d.Backend.Invalid
	}
	return d
}

// find returns the rule for a request, or why there is none. The class may be nil.
func (c *class) find(r *Request) (*Rule, string) {
	if c != nil {
		for _, in := range []*byHost[*paths]{&c.rules, &c.defaults} {
			if rule := find(in, r, false); rule != nil {
				return rule, ""
			}
		}
	}
	return nil, "no rule"
}

// find returns the rule for a request; nil if none matches.
func find(in *byHost[*paths], r *Request, deep bool) *Rule {
	for p := range in.matching(r.Host, deep) {
		if rule := p.find(r); rule != nil {
			return rule
		}
	}
	return nil
}

// Certificates returns the Secrets that may have the certificate for a host at a port, the preferred one first.
func (t *Table) Certificates(of Router, host string, port int32) []types.NamespacedName {
	if of.Namespace != "" {
		if l := t.gateways[of].listener(host, port); l != nil {
			return l.Certificates
		}
		return nil
	}
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
	for _, r := range slices.SortedFunc(maps.Keys(t.gateways), func(a, b Router) int { return strings.Compare(a.String(), b.String()) }) {
		for _, l := range t.gateways[r].Listeners {
			if !isAddress(name) && names(&l.rules, name, true) {
				found = append(found, r)
				break
			}
		}
	}
	return found
}

// names reports whether the class has a rule for a name.
func (c *class) names(name string) bool {
	return names(&c.rules, name, false) || names(&c.defaults, name, false)
}

// names reports whether there is a rule for a name.
func names(in *byHost[*paths], name string, deep bool) bool {
	if _, ok := in.exact[name]; ok {
		return true
	}
	for suffix := range suffixes(name) {
		if _, ok := in.wild[suffix]; ok {
			return true
		}
		if !deep {
			break
		}
	}
	return false
}
