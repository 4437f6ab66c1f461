package kwok

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/kwokcel"
	"minikcm.dev/minikcm/internal/quantity"
	"minikcm.dev/minikcm/internal/usage"
)

// Usage is a valid ResourceUsage, which applies to the pod with its name, or a valid
// ClusterResourceUsage.
type Usage struct {
	Kind, Namespace, Name string

	selector *selector
	groups   []compiledGroup
}

// compiledGroup is a group with its amounts by resource.
type compiledGroup struct {
	containers []string
	amounts    map[corev1.ResourceName]compiledAmount
	// others are the resources that package usage does not know by name, sorted.
	others []corev1.ResourceName
}

// compiledAmount is an expression or, without one, a value.
type compiledAmount struct {
	value      float64
	expression *kwokcel.Expression
}

// Usage parses and checks a ResourceUsage or ClusterResourceUsage in JSON or YAML.
func (p *Parser) Usage(encoded []byte) (*Usage, error) {
	d, err := decode[usageSpec](p, encoded, KindResourceUsage, KindClusterResourceUsage)
	if err != nil {
		return nil, err
	}
	u := &Usage{Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, selector: d.Spec.Selector}
	switch {
	case u.Kind == KindClusterResourceUsage:
		u.Namespace = ""
	case u.selector != nil:
		return nil, fmt.Errorf("%s %s: spec.selector is a field of %s only", u.Kind, u.Name, KindClusterResourceUsage)
	case u.Namespace == "":
		u.Namespace = corev1.NamespaceDefault
	}
	for i := range d.Spec.Usages {
		compiled, err := p.group(&d.Spec.Usages[i])
		if err != nil {
			return nil, fmt.Errorf("%s %s: spec.usages[%d].%w", u.Kind, u.Name, i, err)
		}
		u.groups = append(u.groups, compiled)
	}
	return u, nil
}

// maxValue caps amounts, so that sums of them are exact enough and finite.
const maxValue = 1e18

func (p *Parser) group(g *group) (compiledGroup, error) {
	compiled := compiledGroup{containers: g.Containers, amounts: map[corev1.ResourceName]compiledAmount{}}
	if slices.Contains(g.Containers, "") {
		return compiled, errors.New("containers: a name is empty")
	}
	for name, of := range g.Usage {
		var made compiledAmount
		switch {
		case name == "":
			return compiled, errors.New("usage: the name of a resource is empty")
		case of.Value != nil:
			parsed, err := quantity.Parse(string(*of.Value))
			if err != nil {
				return compiled, fmt.Errorf("usage.%s.value: %w", name, err)
			}
			if made.value = parsed.AsApproximateFloat64(); made.value < 0 || made.value > maxValue {
				return compiled, fmt.Errorf("usage.%s.value is %s, and must be between 0 and %g", name, *of.Value, maxValue)
			}
		case of.Expression != nil:
			var err error
			if made.expression, err = p.number(*of.Expression, kwokcel.OfUsage); err != nil {
				return compiled, fmt.Errorf("usage.%s.expression: %w", name, err)
			}
		default:
			return compiled, fmt.Errorf("usage.%s has neither a value nor an expression", name)
		}
		compiled.amounts[corev1.ResourceName(name)] = made
		switch corev1.ResourceName(name) {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, usage.ResourcePIDs:
		default:
			compiled.others = append(compiled.others, corev1.ResourceName(name))
		}
	}
	slices.Sort(compiled.others)
	return compiled, nil
}

// applies reports whether a ClusterResourceUsage selects a pod: by its name and its namespace, where
// the selector has any.
func (u *Usage) applies(pod *corev1.Pod) bool {
	has := func(all []string, one string) bool { return len(all) == 0 || slices.Contains(all, one) }
	return u.selector == nil || has(u.selector.MatchNamespaces, pod.Namespace) && has(u.selector.MatchNames, pod.Name)
}

// of returns the group of a container: one that names it, else the first for all; nil: there is none.
func (u *Usage) of(container string) *compiledGroup {
	var all *compiledGroup
	for i := range u.groups {
		g := &u.groups[i]
		if slices.Contains(g.containers, container) {
			return g
		}
		if len(g.containers) == 0 && all == nil {
			all = g
		}
	}
	return all
}

// Ref names an object.
type Ref struct{ Kind, Namespace, Name string }

// Usages are the usages of a cluster, as the rules of package usage. They do not change.
type Usages struct {
	opts  UsageOptions
	byPod map[types.NamespacedName]*Usage
	// cluster are the ClusterResourceUsages in the order of their names.
	cluster []*Usage
}

// UsageOptions are the inputs of expressions. Functions may be called concurrently.
type UsageOptions struct {
	Seed uint64
	// Started returns how many containers a node has started.
	Started func(node string) int64
	// Failed is called when an expression fails; it may be nil.
	Failed func(of Ref, err error)
}

// NewUsages returns the set of these usages; nil if there are none.
func NewUsages(all []*Usage, opts UsageOptions) *Usages {
	if len(all) == 0 {
		return nil
	}
	s := &Usages{opts: opts, byPod: map[types.NamespacedName]*Usage{}}
	for _, u := range all {
		if u.Kind == KindResourceUsage {
			s.byPod[types.NamespacedName{Namespace: u.Namespace, Name: u.Name}] = u
		} else {
			s.cluster = append(s.cluster, u)
		}
	}
	slices.SortFunc(s.cluster, func(a, b *Usage) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// find returns the usage of a container: its pod's ResourceUsage, or else the first
// ClusterResourceUsage that selects the pod and has a group for the container.
func (s *Usages) find(pod *corev1.Pod, container string) (*Usage, *compiledGroup) {
	if u := s.byPod[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}]; u != nil {
		return u, u.of(container)
	}
	for _, u := range s.cluster {
		if u.applies(pod) {
			if g := u.of(container); g != nil {
				return u, g
			}
		}
	}
	return nil, nil
}

// Rule implements usage.Rules.
func (s *Usages) Rule(pod *corev1.Pod, container string, name corev1.ResourceName) usage.Rule {
	u, g := s.find(pod, container)
	if g == nil {
		return nil
	}
	amount, ok := g.amounts[name]
	if !ok {
		return nil
	}
	return rule{s, u, name, amount}
}

// Resources implements usage.Rules.
func (s *Usages) Resources(pod *corev1.Pod, container string) []corev1.ResourceName {
	if _, g := s.find(pod, container); g != nil {
		return g.others
	}
	return nil
}

// rule is one amount of a usage.
type rule struct {
	set  *Usages
	of   *Usage
	name corev1.ResourceName
	compiledAmount
}

// Varies implements usage.Rule.
func (r rule) Varies() bool { return r.expression != nil && r.expression.Varies() }

// Amount implements usage.Rule.
func (r rule) Amount(of *usage.Target, at time.Time) (float64, bool) {
	if r.expression == nil {
		return r.value, true
	}
	drawn := 0
	value, err := r.expression.Number(&kwokcel.Input{
		Node: of.Node, Pod: of.Pod, Container: of.Container, Now: at, Started: r.set.opts.Started,
		Random: func() float64 {
			drawn++
			return usage.Chance(r.set.opts.Seed, at, string(of.Pod.UID), of.Container.Name, string(r.name), strconv.Itoa(drawn))
		},
	})
	if err == nil && (math.IsNaN(value) || value > maxValue) {
		err = fmt.Errorf("evaluating %q: it returned %v, and must return at most %g", r.expression, value, maxValue)
	}
	if err != nil {
		if r.set.opts.Failed != nil {
			r.set.opts.Failed(Ref{r.of.Kind, r.of.Namespace, r.of.Name},
				fmt.Errorf("the usage of %s by container %s of pod %s/%s: %w", r.name, of.Container.Name, of.Pod.Namespace, of.Pod.Name, err))
		}
		return 0, false
	}
	return max(value, 0), true
}
