package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func LimitRange(l *corev1.LimitRange) field.ErrorList {
	var errs field.ErrorList
	var types nameList
	for i := range l.Spec.Limits {
		item, p := &l.Spec.Limits[i], field.NewPath("spec", "limits").Index(i)
		errs = append(errs, validateLimitType(p.Child("type"), item.Type)...)
		errs = append(errs, types.add(p.Child("type"), string(item.Type))...)
		errs = append(errs, validateLimitNames(p, item)...)
		for _, name := range namesOf(item) {
			errs = append(errs, validateBounds(p, item, name)...)
		}
	}
	return errs
}

func validateLimitType(p *field.Path, limit corev1.LimitType) field.ErrorList {
	errs := invalidFor(p, string(limit), isQualifiedName(string(limit)))
	if len(errs) > 0 {
		return errs
	}
	switch limit {
	case corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim:
		return nil
	}
	if !strings.Contains(string(limit), "/") {
		return field.ErrorList{field.Invalid(p, limit, "must be a standard limit type or fully qualified")}
	}
	return nil
}

// validateLimitNames validates the names of the resources in the lists, and which lists
// the type allows.
func validateLimitNames(p *field.Path, item *corev1.LimitRangeItem) field.ErrorList {
	var errs field.ErrorList
	for _, part := range limitLists(item) {
		isDefault := part.name == "default" || part.name == "defaultRequest"
		if isDefault && item.Type == corev1.LimitTypePod {
			if len(part.list) > 0 {
				errs = append(errs, field.Forbidden(p.Child(part.name), "may not be specified when `type` is 'Pod'"))
			}
			continue
		}
		for _, name := range sortedNames(part.list) {
			at := p.Child(part.name).Key(string(name))
			if item.Type == corev1.LimitTypePod || item.Type == corev1.LimitTypeContainer {
				errs = append(errs, validateContainerName(at, name)...)
			} else {
				errs = append(errs, validateResourceName(at, name)...)
			}
		}
	}
	if item.Type == corev1.LimitTypePersistentVolumeClaim {
		_, least := item.Min[corev1.ResourceStorage]
		_, most := item.Max[corev1.ResourceStorage]
		if !least && !most {
			errs = append(errs, field.Required(p.Child("limits"), "either minimum or maximum storage value is required, but neither was provided"))
		}
	}
	return errs
}

func validateContainerName(p *field.Path, name corev1.ResourceName) field.ErrorList {
	errs := validateResourceName(p, name)
	if len(errs) == 0 && !strings.Contains(string(name), "/") && !isStandardForContainers(name) {
		errs = append(errs, field.Invalid(p, name, "must be a standard resource for containers"))
	}
	return errs
}

type limitList struct {
	name string
	list corev1.ResourceList
}

func limitLists(item *corev1.LimitRangeItem) []limitList {
	return []limitList{
		{"max", item.Max},
		{"min", item.Min},
		{"default", item.Default},
		{"defaultRequest", item.DefaultRequest},
		{"maxLimitRequestRatio", item.MaxLimitRequestRatio},
	}
}

func namesOf(item *corev1.LimitRangeItem) []corev1.ResourceName {
	all := corev1.ResourceList{}
	for _, part := range limitLists(item) {
		for name := range part.list {
			all[name] = resource.Quantity{}
		}
	}
	return sortedNames(all)
}

// validateBounds requires that the limits of one resource are in order: min, default
// request, default limit, max.
func validateBounds(p *field.Path, item *corev1.LimitRangeItem, name corev1.ResourceName) field.ErrorList {
	type bound struct {
		field, text string
		list        corev1.ResourceList
	}
	least, most := bound{"min", "min", item.Min}, bound{"max", "max", item.Max}
	request, limit := bound{"defaultRequest", "default request", item.DefaultRequest}, bound{"default", "default", item.Default}
	asLimit := bound{"default", "default limit", item.Default}
	var errs field.ErrorList
	for _, pair := range []struct {
		low, high bound
		at        string
		shown     bound
	}{
		{least, most, "min", least},
		{least, request, "defaultRequest", request},
		{request, most, "defaultRequest", request},
		{request, asLimit, "defaultRequest", request},
		{least, limit, "default", least},
		{limit, most, "default", most},
	} {
		low, hasLow := pair.low.list[name]
		high, hasHigh := pair.high.list[name]
		if hasLow && hasHigh && low.Cmp(high) > 0 {
			shown := pair.shown.list[name]
			errs = append(errs, field.Invalid(p.Child(pair.at).Key(string(name)), shown.String(),
				fmt.Sprintf("%s value %s is greater than %s value %s", pair.low.text, low.String(), pair.high.text, high.String())))
		}
	}
	return append(errs, validateRatio(p.Child("maxLimitRequestRatio").Key(string(name)), item, name)...)
}

func validateRatio(p *field.Path, item *corev1.LimitRangeItem, name corev1.ResourceName) field.ErrorList {
	ratio, set := item.MaxLimitRequestRatio[name]
	if !set {
		return nil
	}
	var errs field.ErrorList
	if ratio.Cmp(*resource.NewQuantity(1, resource.DecimalSI)) < 0 {
		errs = append(errs, field.Invalid(p, ratio.String(), fmt.Sprintf("ratio %s is less than 1", ratio.String())))
	}
	least, hasLeast := item.Min[name]
	most, hasMost := item.Max[name]
	if !hasLeast || !hasMost || least.IsZero() {
		return errs
	}
	if possible := most.AsApproximateFloat64() / least.AsApproximateFloat64(); ratio.AsApproximateFloat64() > possible {
		errs = append(errs, field.Invalid(p, ratio.String(), fmt.Sprintf("ratio %s is greater than max/min = %f", ratio.String(), possible)))
	}
	return errs
}
