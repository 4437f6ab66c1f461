package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilnet "k8s.io/utils/net"
)

func Namespace(ns *corev1.Namespace) field.ErrorList {
	var errs field.ErrorList
	for _, finalizer := range ns.Spec.Finalizers {
		p := field.NewPath("spec", "finalizers")
		errs = append(errs, invalidFor(p, string(finalizer), isQualifiedName(string(finalizer)))...)
		if !strings.Contains(string(finalizer), "/") && finalizer != corev1.FinalizerKubernetes {
			errs = append(errs, field.Invalid(p, finalizer, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

func NamespaceStatus(ns, _ *corev1.Namespace) field.ErrorList {
	p := field.NewPath("status", "Phase")
	switch {
	case ns.DeletionTimestamp.IsZero() && ns.Status.Phase != corev1.NamespaceActive:
		return field.ErrorList{field.Invalid(p, ns.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty")}
	case !ns.DeletionTimestamp.IsZero() && ns.Status.Phase != corev1.NamespaceTerminating:
		return field.ErrorList{field.Invalid(p, ns.Status.Phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")}
	}
	return nil
}

func Node(n *corev1.Node) field.ErrorList {
	p := field.NewPath("spec")
	errs := validateTaints(p.Child("taints"), n.Spec.Taints)
	for i, cidr := range n.Spec.PodCIDRs {
		errs = append(errs, validation.IsValidCIDRForLegacyField(p.Child("podCIDRs").Index(i), cidr, true, nil)...)
	}
	if len(n.Spec.PodCIDRs) > 2 || len(n.Spec.PodCIDRs) == 2 && utilnet.IsIPv6CIDRString(n.Spec.PodCIDRs[0]) == utilnet.IsIPv6CIDRString(n.Spec.PodCIDRs[1]) {
		errs = append(errs, field.Invalid(p.Child("podCIDRs"), n.Spec.PodCIDRs, "may specify no more than one CIDR for each IP family"))
	}
	if len(n.Spec.PodCIDRs) > 0 && n.Spec.PodCIDR != "" && n.Spec.PodCIDRs[0] != n.Spec.PodCIDR {
		errs = append(errs, field.Invalid(p.Child("podCIDRs"), n.Spec.PodCIDRs, "first value must match `podCIDR`"))
	}
	return append(errs, validateNodeResources(n)...)
}

func validateNodeResources(n *corev1.Node) field.ErrorList {
	var errs field.ErrorList
	for _, list := range []struct {
		name      string
		resources corev1.ResourceList
	}{{"capacity", n.Status.Capacity}, {"allocatable", n.Status.Allocatable}} {
		for _, name := range sortedNames(list.resources) {
			p := field.NewPath("status", list.name).Key(string(name))
			errs = append(errs, validateResourceName(p, name)...)
			errs = append(errs, validateQuantity(p, name, list.resources[name])...)
		}
	}
	return errs
}

func validateTaints(p *field.Path, taints []corev1.Taint) field.ErrorList {
	type pair struct {
		key    string
		effect corev1.TaintEffect
	}
	var errs field.ErrorList
	seen := map[pair]bool{}
	for i := range taints {
		t, at := &taints[i], p.Index(i)
		errs = append(errs, invalidFor(at.Child("key"), t.Key, isQualifiedName(t.Key))...)
		if messages := validation.IsValidLabelValue(t.Value); len(messages) > 0 {
			errs = append(errs, field.Invalid(at.Child("value"), t.Value, strings.Join(messages, ";")))
		}
		errs = append(errs, validateTaintEffect(at.Child("effect"), t.Effect)...)
		if seen[pair{t.Key, t.Effect}] {
			duplicate := field.Duplicate(at, t)
			duplicate.Detail = "taints must be unique by key and effect pair"
			errs = append(errs, duplicate)
		}
		seen[pair{t.Key, t.Effect}] = true
	}
	return errs
}

// NodeUpdate allows an update to change labels, taints and unschedulable, and
// to set once the fields that the network or cloud provider assigns.
func NodeUpdate(n, old *corev1.Node) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("spec")
	if len(old.Spec.PodCIDRs) > 0 && !apiequality.Semantic.DeepEqual(n.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		errs = append(errs, field.Forbidden(p.Child("podCIDRs"), "node updates may not change podCIDR except from \"\" to valid"))
	}
	if old.Spec.ProviderID != "" && n.Spec.ProviderID != old.Spec.ProviderID {
		errs = append(errs, field.Forbidden(p.Child("providerID"), "node updates may not change providerID except from \"\" to valid"))
	}
	rest := n.Spec
	rest.PodCIDR, rest.PodCIDRs, rest.ProviderID = old.Spec.PodCIDR, old.Spec.PodCIDRs, old.Spec.ProviderID
	rest.Taints, rest.Unschedulable = old.Spec.Taints, old.Spec.Unschedulable
	rest.ConfigSource = old.Spec.ConfigSource
	if !apiequality.Semantic.DeepEqual(rest, old.Spec) {
		errs = append(errs, field.Forbidden(field.NewPath(""), "node updates may only change labels, taints, or capacity (or configSource, if the DynamicKubeletConfig feature gate is enabled)"))
	}
	return errs
}

func NodeStatus(n, _ *corev1.Node) field.ErrorList {
	errs := validateNodeResources(n)
	errs = append(errs, validateDeclaredFeatures(field.NewPath("status", "declaredFeatures"), n.Status.DeclaredFeatures)...)
	errs = append(errs, validateNodeConfig(field.NewPath("status", "config"), n.Status.Config)...)
	seen := map[corev1.NodeAddress]bool{}
	for i, address := range n.Status.Addresses {
		if seen[address] {
			errs = append(errs, field.Duplicate(field.NewPath("status", "addresses").Index(i), address))
		}
		seen[address] = true
	}
	return errs
}

const systemPrefix = "system-"

func PriorityClass(pc *schedulingv1.PriorityClass) field.ErrorList {
	var errs field.ErrorList
	switch {
	case strings.HasPrefix(pc.Name, systemPrefix):
		if problem := systemClassProblem(pc); problem != "" {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"),
				"priority class names with '"+systemPrefix+"' prefix are reserved for system use only. error: "+problem))
		}
	case pc.Value > HighestUserPriority:
		errs = append(errs, field.Forbidden(field.NewPath("value"), fmt.Sprintf("maximum allowed value of a user defined priority is %v", HighestUserPriority)))
	}
	if policy := pc.PreemptionPolicy; policy != nil {
		errs = append(errs, requiredOneOf(field.NewPath("preemptionPolicy"), *policy, corev1.PreemptLowerPriority, corev1.PreemptNever)...)
	}
	return errs
}

// systemClassProblem returns how a class differs from the system's class of that name.
func systemClassProblem(pc *schedulingv1.PriorityClass) string {
	value := map[string]int32{SystemClusterCritical: SystemClusterCriticalValue, SystemNodeCritical: SystemNodeCriticalValue}
	want, known := value[pc.Name]
	switch {
	case !known:
		return pc.Name + " is not a known system priority class"
	case pc.Value != want:
		return fmt.Sprintf("value of %v PriorityClass must be %v", pc.Name, want)
	case pc.GlobalDefault:
		return fmt.Sprintf("globalDefault of %v PriorityClass must be false", pc.Name)
	}
	return ""
}

func PriorityClassUpdate(pc, old *schedulingv1.PriorityClass) field.ErrorList {
	var errs field.ErrorList
	if pc.Value != old.Value {
		errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	}
	return append(errs, apivalidation.ValidateImmutableField(pc.PreemptionPolicy, old.PreemptionPolicy, field.NewPath("preemptionPolicy"))...)
}
