package validation

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateLabelKeys validates the keys beside a selector into which a pod's keys have
// been resolved already: if the selector has a matched key twice, the client has set
// one of them.
func validateLabelKeys(p *field.Path, selector *metav1.LabelSelector, match, mismatch []string) field.ErrorList {
	errs := validateKeys(p.Child("matchLabelKeys"), selector, match)
	errs = append(errs, validateKeys(p.Child("mismatchLabelKeys"), selector, mismatch)...)
	if selector != nil {
		seen := map[string]bool{}
		for key := range selector.MatchLabels {
			seen[key] = true
		}
		for i := range selector.MatchExpressions {
			key := selector.MatchExpressions[i].Key
			if at := slices.Index(match, key); at >= 0 && seen[key] {
				errs = append(errs, field.Invalid(p.Index(at), key, fmt.Sprintf(inBoth, "labelSelector")))
			}
			seen[key] = true
		}
	}
	for i, key := range match {
		if slices.Contains(mismatch, key) {
			errs = append(errs, field.Invalid(p.Child("matchLabelKeys").Index(i), key, fmt.Sprintf(inBoth, "mismatchLabelKeys")))
		}
	}
	return errs
}

const inBoth = "exists in both matchLabelKeys and %s"

func validateKeys(p *field.Path, selector *metav1.LabelSelector, keys []string) field.ErrorList {
	if len(keys) > 0 && selector == nil {
		return field.ErrorList{field.Forbidden(p, "must not be specified when labelSelector is not set")}
	}
	var errs field.ErrorList
	for i, key := range keys {
		errs = append(errs, metav1validation.ValidateLabelName(key, p.Index(i))...)
	}
	return errs
}
