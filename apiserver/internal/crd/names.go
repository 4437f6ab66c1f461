package crd

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Settle decides which of the names that a definition requests it gets, given the other
// definitions, and sets its conditions accordingly: NamesAccepted, Established and, for
// a group of the Kubernetes project, KubernetesAPIApprovalPolicyConformant. A
// definition that is established stays established, with its accepted names.
func Settle(d *apiextensionsv1.CustomResourceDefinition, others []*apiextensionsv1.CustomResourceDefinition, now metav1.Time) {
	accepted, problem := acceptNames(d, others)
	d.Status.AcceptedNames = accepted
	names := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found",
	}
	if problem != nil {
		names.Status, names.Reason, names.Message = apiextensionsv1.ConditionFalse, problem.reason, problem.message
	}
	setCondition(d, names, now)
	switch {
	case isTrue(d, apiextensionsv1.Established):
	case problem == nil:
		setCondition(d, apiextensionsv1.CustomResourceDefinitionCondition{
			Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue,
			Reason: "InitialNamesAccepted", Message: "the initial names have been accepted",
		}, now)
	default:
		setCondition(d, apiextensionsv1.CustomResourceDefinitionCondition{
			Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse,
			Reason: "NotAccepted", Message: "not all names are accepted",
		}, now)
	}
	if approval := approvalCondition(d); approval != nil {
		setCondition(d, *approval, now)
	}
}

// nameProblem describes a name that another definition already has.
type nameProblem struct{ reason, message string }

func acceptNames(d *apiextensionsv1.CustomResourceDefinition, others []*apiextensionsv1.CustomResourceDefinition) (apiextensionsv1.CustomResourceDefinitionNames, *nameProblem) {
	resources, kinds := takenNames(d, others)
	want, have := d.Spec.Names, d.Status.AcceptedNames
	var problem *nameProblem
	settle := func(wanted string, name *string, taken sets.Set[string], reason string) {
		if wanted != *name && taken.Has(wanted) {
			problem = &nameProblem{reason, inUse(wanted)}
			return
		}
		*name = wanted
	}
	settle(want.Plural, &have.Plural, resources, "PluralConflict")
	settle(want.Singular, &have.Singular, resources, "SingularConflict")
	if errs := takenShortNames(want.ShortNames, have.ShortNames, resources); len(errs) > 0 {
		problem = &nameProblem{"ShortNamesConflict", aggregate(errs)}
	} else {
		have.ShortNames = slices.Clone(want.ShortNames)
	}
	settle(want.Kind, &have.Kind, kinds, "KindConflict")
	settle(want.ListKind, &have.ListKind, kinds, "ListKindConflict")
	have.Categories = slices.Clone(want.Categories)
	return have, problem
}

// takenNames returns the accepted names of the group's other definitions.
func takenNames(d *apiextensionsv1.CustomResourceDefinition, others []*apiextensionsv1.CustomResourceDefinition) (resources, kinds sets.Set[string]) {
	resources, kinds = sets.New[string](), sets.New[string]()
	for _, other := range others {
		if other.Name == d.Name || other.Spec.Group != d.Spec.Group {
			continue
		}
		names := &other.Status.AcceptedNames
		resources.Insert(names.Plural, names.Singular).Insert(names.ShortNames...)
		kinds.Insert(names.Kind, names.ListKind)
	}
	resources.Delete("")
	kinds.Delete("")
	return resources, kinds
}

func takenShortNames(want, have []string, taken sets.Set[string]) []error {
	var errs []error
	for _, name := range want {
		if !slices.Contains(have, name) && taken.Has(name) {
			errs = append(errs, errors.New(inUse(name)))
		}
	}
	return errs
}

func inUse(name string) string { return fmt.Sprintf("%q is already in use", name) }

// aggregate joins several errors, as upstream.
func aggregate(errs []error) string {
	if len(errs) == 1 {
		return errs[0].Error()
	}
	text := "["
	for i, err := range errs {
		if i > 0 {
			text += ", "
		}
		text += err.Error()
	}
	return text + "]"
}

// approvalCondition reports whether a definition in a group of the Kubernetes project
// is approved; nil for other groups.
func approvalCondition(d *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionCondition {
	if !apihelpers.IsProtectedCommunityGroup(d.Spec.Group) {
		return nil
	}
	state, text := apihelpers.GetAPIApprovalState(d.Annotations)
	condition := &apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.KubernetesAPIApprovalPolicyConformant, Message: text}
	switch state {
	case apihelpers.APIApproved:
		condition.Status, condition.Reason = apiextensionsv1.ConditionTrue, "ApprovedAnnotation"
	case apihelpers.APIApprovalBypassed:
		condition.Status, condition.Reason = apiextensionsv1.ConditionFalse, "UnapprovedAnnotation"
	case apihelpers.APIApprovalMissing:
		condition.Status, condition.Reason = apiextensionsv1.ConditionFalse, "MissingAnnotation"
	case apihelpers.APIApprovalInvalid:
		condition.Status, condition.Reason = apiextensionsv1.ConditionFalse, "InvalidAnnotation"
	default:
		condition.Status, condition.Reason = apiextensionsv1.ConditionUnknown, "UnknownAnnotation"
	}
	return condition
}
