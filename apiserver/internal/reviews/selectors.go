package reviews

import (
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selectorProblems lists the selectors that cannot be parsed, in part or at all
// (KEP-4601).
func selectorProblems(r *authorizationv1.ResourceAttributes) []string {
	var problems []string
	note := func(name string, read int, err error) {
		switch {
		case err != nil && read > 0:
			problems = append(problems, "spec.resourceAttributes."+name+" partially ignored due to parse error")
		case err != nil:
			problems = append(problems, "spec.resourceAttributes."+name+" ignored due to parse error")
		}
	}
	if s := r.FieldSelector; s != nil {
		if s.RawSelector != "" {
			_, err := fields.ParseSelector(s.RawSelector)
			note("fieldSelector", 0, err)
		} else {
			read, err := readFieldRequirements(s.Requirements)
			note("fieldSelector", read, err)
		}
	}
	if s := r.LabelSelector; s != nil {
		if s.RawSelector != "" {
			_, err := labels.Parse(s.RawSelector)
			note("labelSelector", 0, err)
		} else {
			read, err := readLabelRequirements(s.Requirements)
			note("labelSelector", read, err)
		}
	}
	return problems
}

// fieldSelectorOf returns the field selector of the request under review. Requirements that
// cannot be read are left out, as upstream: the request then selects more.
func fieldSelectorOf(r *authorizationv1.ResourceAttributes) string {
	if r.FieldSelector == nil {
		return ""
	}
	if r.FieldSelector.RawSelector != "" {
		return r.FieldSelector.RawSelector
	}
	var all []fields.Selector
	for _, r := range r.FieldSelector.Requirements {
		switch {
		case len(r.Values) != 1:
		case r.Operator == metav1.FieldSelectorOpIn:
			all = append(all, fields.OneTermEqualSelector(r.Key, r.Values[0]))
		case r.Operator == metav1.FieldSelectorOpNotIn:
			all = append(all, fields.OneTermNotEqualSelector(r.Key, r.Values[0]))
		}
	}
	return fields.AndSelectors(all...).String()
}

// labelSelectorOf returns the label selector of a review, without the requirements that are not
// valid.
func labelSelectorOf(r *authorizationv1.ResourceAttributes) string {
	if r.LabelSelector == nil {
		return ""
	}
	if r.LabelSelector.RawSelector != "" {
		return r.LabelSelector.RawSelector
	}
	selector := labels.NewSelector()
	for _, r := range r.LabelSelector.Requirements {
		one, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{r}})
		if err != nil {
			continue
		}
		if requirements, selectable := one.Requirements(); selectable {
			selector = selector.Add(requirements...)
		}
	}
	return selector.String()
}

func readFieldRequirements(requirements []metav1.FieldSelectorRequirement) (read int, err error) {
	for _, r := range requirements {
		switch {
		case r.Operator != metav1.FieldSelectorOpIn && r.Operator != metav1.FieldSelectorOpNotIn:
			err = errors.Join(err, fmt.Errorf("%q is not an operator of field selectors", r.Operator))
		case len(r.Values) != 1:
			err = errors.Join(err, fmt.Errorf("%s needs one value", r.Key))
		default:
			read++
		}
	}
	return read, err
}

func readLabelRequirements(requirements []metav1.LabelSelectorRequirement) (read int, err error) {
	for _, r := range requirements {
		if _, problem := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{r}}); problem != nil {
			err = errors.Join(err, problem)
		} else {
			read++
		}
	}
	return read, err
}
