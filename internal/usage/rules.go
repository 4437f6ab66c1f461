package usage

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rules declare the usage of containers without an annotation for it. They are safe for concurrent use.
type Rules interface {
	// Rule returns the rule for a container's use of a resource; nil if there is none.
	Rule(pod *corev1.Pod, container string, name corev1.ResourceName) Rule
	// Resources returns the resources other than CPU, memory, ephemeral storage and PIDs for
	// which a container has a rule, sorted.
	Resources(pod *corev1.Pod, container string) []corev1.ResourceName
}

// Rule declares a container's usage of a resource.
type Rule interface {
	// Varies reports whether the amount changes while the objects stay as they are.
	Varies() bool
	// Amount returns the amount at a time, which is neither negative nor infinite; false if the
	// rule fails.
	Amount(of *Target, at time.Time) (float64, bool)
}

// Target is the container that a Rule is applied to.
type Target struct {
	// Node is the pod's node. It has only a name if the node is unknown.
	Node      *corev1.Node
	Pod       *corev1.Pod
	Container *corev1.Container
}

// rule returns the rule for a container's use of a resource; nil if there is none.
func (u *Model) rule(pod *corev1.Pod, c *corev1.Container, name corev1.ResourceName) Rule {
	if u.Rules == nil {
		return nil
	}
	return u.Rules.Rule(pod, c.Name, name)
}

func (u *Model) target(pod *corev1.Pod, c *corev1.Container) *Target {
	of := &Target{Pod: pod, Container: c}
	if u.Node != nil {
		of.Node = u.Node(pod.Spec.NodeName)
	}
	if of.Node == nil {
		of.Node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}}
	}
	return of
}

// ruled returns a container's usage of a resource as a rule declares it; false if no rule does.
func (u *Model) ruled(pod *corev1.Pod, c *corev1.Container, name corev1.ResourceName, at time.Time) (float64, bool) {
	rule := u.rule(pod, c, name)
	if rule == nil {
		return 0, false
	}
	return rule.Amount(u.target(pod, c), at)
}

// others returns a container's usage of resources other than CPU and memory as rules declare it.
func (u *Model) others(pod *corev1.Pod, c *corev1.Container, at time.Time) map[corev1.ResourceName]float64 {
	if u.Rules == nil {
		return nil
	}
	var all map[corev1.ResourceName]float64
	for _, name := range u.Rules.Resources(pod, c.Name) {
		if value, ok := u.ruled(pod, c, name, at); ok {
			if all == nil {
				all = map[corev1.ResourceName]float64{}
			}
			all[name] = value
		}
	}
	return all
}

// demandStep is the time within which the demand of a rule that varies is taken to stay the same:
// that between two looks of a kubelet at its node.
const demandStep = 10 * time.Second

// loadOfRule returns the amount that a rule declares as a load; false if the rule fails at the
// given time. Later, it has the last amount where it fails.
func loadOfRule(rule Rule, of *Target, since time.Time) (Load, bool) {
	value, ok := rule.Amount(of, since)
	if !ok {
		return Load{}, false
	}
	if !rule.Varies() {
		return constantLoad(value), true
	}
	last := since
	return Load{terms: []term{{func(at, _ time.Time) float64 {
		if at = at.Truncate(demandStep); !at.Equal(last) {
			last = at
			if v, ok := rule.Amount(of, at); ok {
				value = v
			}
		}
		return value
	}, math.Inf(1)}}}, true
}

func constantLoad(value float64) Load {
	return Load{terms: []term{{func(time.Time, time.Time) float64 { return value }, value}}, constant: true}
}

// Chance returns a pseudo-random number in [0, 1) that follows from the seed, the time and the key.
func Chance(seed uint64, at time.Time, key ...string) float64 { return (chance(seed, at, key) + 1) / 2 }
