package warnings

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// deprecatedNodeLabels maps deprecated node labels to their warning.
var deprecatedNodeLabels = map[string]string{
	"beta.kubernetes.io/arch":                       `deprecated since v1.14; use "kubernetes.io/arch" instead`,
	"beta.kubernetes.io/os":                         `deprecated since v1.14; use "kubernetes.io/os" instead`,
	"failure-domain.beta.kubernetes.io/region":      `deprecated since v1.17; use "topology.kubernetes.io/region" instead`,
	"failure-domain.beta.kubernetes.io/zone":        `deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
	"beta.kubernetes.io/instance-type":              `deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`,
	"app.kubernetes.io/created-by":                  "deprecated since v1.9",
	"scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
	"node-role.kubernetes.io/master":                `use "node-role.kubernetes.io/control-plane" instead`,
}

// warnNodeLabels warns of deprecated keys of a label selector.
func warnNodeLabels(selector map[string]string, at func(key string) *field.Path) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		if text, deprecated := deprecatedNodeLabels[key]; deprecated {
			all = append(all, fmt.Sprintf("%s: %s", at(key), text))
		}
	}
	return all
}

// warnNodeLabel warns of a deprecated key.
func warnNodeLabel(p *field.Path, key string) []string {
	text, deprecated := deprecatedNodeLabels[key]
	if !deprecated {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s is %s", p, key, text)}
}

func warnNodeTerm(p *field.Path, term *corev1.NodeSelectorTerm, checkValues bool) []string {
	var all []string
	for i := range term.MatchExpressions {
		expression, at := &term.MatchExpressions[i], p.Child("matchExpressions").Index(i)
		all = append(all, warnNodeLabel(at.Child("key"), expression.Key)...)
		if !checkValues {
			continue
		}
		for j, value := range expression.Values {
			for _, problem := range validation.IsValidLabelValue(value) {
				all = append(all, fmt.Sprintf("%s: %s is invalid, %s", at.Child("values").Index(j), value, problem))
			}
		}
	}
	return all
}

// PodName warns of a name that is not valid in pods' hostnames.
func PodName(m metav1.Object) []string {
	return warnHostname(m, "this is used in Pod names and hostnames")
}

func warnHostname(m metav1.Object, use string) []string {
	problems := validation.IsDNS1123Label(m.GetName())
	if len(problems) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("metadata.name: %s, which can result in surprising behavior; a DNS label is recommended: %v", use, problems)}
}

// warnFraction warns of fractions of a byte.
func warnFraction(p *field.Path, list corev1.ResourceList, names ...corev1.ResourceName) []string {
	var all []string
	for _, name := range names {
		if quantity, ok := list[name]; ok && isFraction(quantity) {
			all = append(all, fmt.Sprintf("%s: fractional byte value %q is invalid, must be an integer", p.Key(string(name)), quantity.String()))
		}
	}
	return all
}

func isFraction(quantity resource.Quantity) bool { return quantity.MilliValue()%1000 != 0 }
