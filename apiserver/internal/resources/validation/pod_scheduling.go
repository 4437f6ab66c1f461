package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateScheduling validates the fields that determine where a pod may run.
func validateScheduling(p *field.Path, spec *corev1.PodSpec) field.ErrorList {
	errs := metav1validation.ValidateLabels(spec.NodeSelector, p.Child("nodeSelector"))
	errs = append(errs, validateAffinity(p.Child("affinity"), spec.Affinity)...)
	errs = append(errs, validateTolerations(p.Child("tolerations"), spec.Tolerations)...)
	errs = append(errs, validateSpreading(p.Child("topologySpreadConstraints"), spec.TopologySpreadConstraints)...)
	for i := range spec.ReadinessGates {
		conditionType := string(spec.ReadinessGates[i].ConditionType)
		errs = append(errs, invalidFor(p.Child("readinessGates").Index(i).Child("conditionType"), conditionType, isQualifiedName(conditionType))...)
	}
	var gates nameList
	for i := range spec.SchedulingGates {
		at := p.Child("schedulingGates").Index(i)
		name := spec.SchedulingGates[i].Name
		errs = append(errs, invalidFor(at, name, isQualifiedName(name))...)
		errs = append(errs, gates.add(at, name)...)
	}
	return errs
}

// Tolerations checks tolerations outside a pod; name is their path in error messages.
func Tolerations(name string, tolerations []corev1.Toleration) field.ErrorList {
	return validateTolerations(field.NewPath(name), tolerations)
}

func validateTolerations(p *field.Path, tolerations []corev1.Toleration) field.ErrorList {
	var errs field.ErrorList
	for i := range tolerations {
		errs = append(errs, validateToleration(p.Index(i), &tolerations[i])...)
	}
	return errs
}

func validateToleration(p *field.Path, t *corev1.Toleration) field.ErrorList {
	errs := optional(p.Child("key"), t.Key, isQualifiedName)
	if t.Key == "" && t.Operator != corev1.TolerationOpExists {
		errs = append(errs, field.Invalid(p.Child("operator"), t.Operator,
			"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		errs = append(errs, field.Invalid(p.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
	}
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		errs = append(errs, invalidFor(p.Child("operator"), t.Value, validation.IsValidLabelValue(t.Value))...)
	case corev1.TolerationOpExists:
		if t.Value != "" {
			errs = append(errs, field.Invalid(p.Child("operator"), t, "value must be empty when `operator` is 'Exists'"))
		}
	default:
		errs = append(errs, field.NotSupported(p.Child("operator"), t.Operator, []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}))
	}
	if t.Effect != "" {
		errs = append(errs, validateTaintEffect(p.Child("effect"), t.Effect)...)
	}
	return errs
}

func validateTaintEffect(p *field.Path, effect corev1.TaintEffect) field.ErrorList {
	return requiredOneOf(p, effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
}

func validateAffinity(p *field.Path, affinity *corev1.Affinity) field.ErrorList {
	if affinity == nil {
		return nil
	}
	var errs field.ErrorList
	if a := affinity.NodeAffinity; a != nil {
		errs = append(errs, validateNodeAffinity(p.Child("nodeAffinity"), a)...)
	}
	if a := affinity.PodAffinity; a != nil {
		errs = append(errs, validatePodTerms(p.Child("podAffinity"), a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)...)
	}
	if a := affinity.PodAntiAffinity; a != nil {
		errs = append(errs, validatePodTerms(p.Child("podAntiAffinity"), a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)...)
	}
	return errs
}

const (
	requiredTerms  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution"
)

func validateNodeAffinity(p *field.Path, a *corev1.NodeAffinity) field.ErrorList {
	var errs field.ErrorList
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		at := p.Child(requiredTerms, "nodeSelectorTerms")
		if len(required.NodeSelectorTerms) == 0 {
			errs = append(errs, field.Required(at, "must have at least one node selector term"))
		}
		for i := range required.NodeSelectorTerms {
			errs = append(errs, validateNodeTerm(at.Index(i), &required.NodeSelectorTerms[i], false)...)
		}
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		term, at := &a.PreferredDuringSchedulingIgnoredDuringExecution[i], p.Child(preferredTerms).Index(i)
		errs = append(errs, validateWeight(at.Child("weight"), term.Weight)...)
		errs = append(errs, validateNodeTerm(at.Child("preference"), &term.Preference, true)...)
	}
	return errs
}

func validateWeight(p *field.Path, weight int32) field.ErrorList {
	if weight < 1 || weight > 100 {
		return field.ErrorList{field.Invalid(p, weight, "must be in the range 1-100")}
	}
	return nil
}

// validateNodeTerm validates a term. A preference with anyValue may have label values
// that no node can have.
func validateNodeTerm(p *field.Path, term *corev1.NodeSelectorTerm, anyValue bool) field.ErrorList {
	var errs field.ErrorList
	for i := range term.MatchExpressions {
		at := p.Child("matchExpressions").Index(i)
		errs = append(errs, validateNodeRequirement(at, &term.MatchExpressions[i])...)
		errs = append(errs, metav1validation.ValidateLabelName(term.MatchExpressions[i].Key, at.Child("key"))...)
		for j, value := range term.MatchExpressions[i].Values {
			if anyValue {
				break
			}
			errs = append(errs, invalidFor(at.Child("values").Index(j), value, validation.IsValidLabelValue(value))...)
		}
	}
	for i := range term.MatchFields {
		errs = append(errs, validateNodeField(p.Child("matchFields").Index(i), &term.MatchFields[i])...)
	}
	return errs
}

func validateNodeRequirement(p *field.Path, r *corev1.NodeSelectorRequirement) field.ErrorList {
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			return field.ErrorList{field.Required(p.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'")}
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			return field.ErrorList{field.Forbidden(p.Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")}
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			return field.ErrorList{field.Required(p.Child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'")}
		}
	default:
		return field.ErrorList{field.Invalid(p.Child("operator"), r.Operator, "not a valid selector operator")}
	}
	return nil
}

// validateNodeField validates a requirement on a field of the node; only its name is
// supported.
func validateNodeField(p *field.Path, r *corev1.NodeSelectorRequirement) field.ErrorList {
	var errs field.ErrorList
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) != 1 {
			errs = append(errs, field.Required(p.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
		}
	default:
		errs = append(errs, field.Invalid(p.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	if r.Key != metav1.ObjectNameField {
		return append(errs, field.Invalid(p.Child("key"), r.Key, "not a valid field selector key"))
	}
	if len(r.Values) != 1 {
		return errs
	}
	return append(errs, invalidFor(p.Child("values").Index(0), r.Values[0], isDNSSubdomain(r.Values[0]))...)
}

func validatePodTerms(p *field.Path, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) field.ErrorList {
	var errs field.ErrorList
	for i := range required {
		errs = append(errs, validatePodTerm(p.Child(requiredTerms).Index(i), &required[i])...)
	}
	for i := range preferred {
		at := p.Child(preferredTerms).Index(i)
		errs = append(errs, validateWeight(at.Child("weight"), preferred[i].Weight)...)
		errs = append(errs, validatePodTerm(at.Child("podAffinityTerm"), &preferred[i].PodAffinityTerm)...)
	}
	return errs
}

func validatePodTerm(p *field.Path, term *corev1.PodAffinityTerm) field.ErrorList {
	errs := validateSelector(p.Child("labelSelector"), term.LabelSelector)
	errs = append(errs, validateSelector(p.Child("namespaceSelector"), term.NamespaceSelector)...)
	for _, name := range term.Namespaces {
		errs = append(errs, invalidFor(p.Child("namespace"), name, isDNSLabel(name))...)
	}
	errs = append(errs, validateLabelKeys(p, term.LabelSelector, term.MatchLabelKeys, term.MismatchLabelKeys)...)
	return append(errs, validateTopologyKey(p.Child("topologyKey"), term.TopologyKey)...)
}

func validateTopologyKey(p *field.Path, key string) field.ErrorList {
	var errs field.ErrorList
	if key == "" {
		errs = append(errs, field.Required(p, "can not be empty"))
	}
	return append(errs, metav1validation.ValidateLabelName(key, p)...)
}

func validateSpreading(p *field.Path, constraints []corev1.TopologySpreadConstraint) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]int{}
	for i := range constraints {
		c, at := &constraints[i], p.Index(i)
		if c.MaxSkew <= 0 {
			errs = append(errs, field.Invalid(at.Child("maxSkew"), c.MaxSkew, notGreaterThanZero))
		}
		if c.TopologyKey == "" {
			errs = append(errs, field.Required(at.Child("topologyKey"), "can not be empty"))
		}
		errs = append(errs, oneOf(at.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)...)
		pair := fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable)
		if earlier, doubled := seen[pair]; doubled {
			errs = append(errs, field.Duplicate(p.Index(earlier).Child("{topologyKey, whenUnsatisfiable}"), pair))
		}
		seen[pair] = i
		if n := c.MinDomains; n != nil {
			if *n <= 0 {
				errs = append(errs, field.Invalid(at.Child("minDomains"), *n, notGreaterThanZero))
			}
			if c.WhenUnsatisfiable != corev1.DoNotSchedule {
				errs = append(errs, field.Invalid(at.Child("minDomains"), *n,
					fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule, c.WhenUnsatisfiable)))
			}
		}
		errs = append(errs, validateInclusion(at.Child("nodeAffinityPolicy"), c.NodeAffinityPolicy)...)
		errs = append(errs, validateInclusion(at.Child("nodeTaintsPolicy"), c.NodeTaintsPolicy)...)
		errs = append(errs, validateSelector(at.Child("labelSelector"), c.LabelSelector)...)
		errs = append(errs, validateLabelKeys(at, c.LabelSelector, c.MatchLabelKeys, nil)...)
	}
	return errs
}

// notGreaterThanZero is the message of the spread constraints for a value of 0 or less.
const notGreaterThanZero = "must be greater than zero"

func validateInclusion(p *field.Path, policy *corev1.NodeInclusionPolicy) field.ErrorList {
	if policy == nil {
		return nil
	}
	return oneOf(p, *policy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
}
