package validation

import (
	"fmt"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func PriorityLevelConfiguration(l *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	spec, p := &l.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if l.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt && spec.Type != flowcontrolv1.PriorityLevelEnablementExempt ||
		l.Name != flowcontrolv1.PriorityLevelConfigurationNameExempt && spec.Type == flowcontrolv1.PriorityLevelEnablementExempt {
		errs = append(errs, field.Invalid(p.Child("type"), spec.Type, "type must be 'Exempt' if and only if name is 'exempt'"))
	}
	switch spec.Type {
	case flowcontrolv1.PriorityLevelEnablementExempt:
		if spec.Limited != nil {
			errs = append(errs, field.Forbidden(p.Child("limited"), "must be nil if the type is not Limited"))
		}
		if e := spec.Exempt; e != nil {
			errs = append(errs, validateShares(p.Child("exempt"), e.NominalConcurrencyShares, e.LendablePercent)...)
		}
	case flowcontrolv1.PriorityLevelEnablementLimited:
		if spec.Exempt != nil {
			errs = append(errs, field.Forbidden(p.Child("exempt"), "must be nil if the type is Limited"))
		}
		if spec.Limited == nil {
			return append(errs, field.Required(p.Child("limited"), "must not be empty when type is Limited"))
		}
		errs = append(errs, validateLimited(p.Child("limited"), spec.Limited)...)
	default:
		errs = append(errs, unsetWithout(p.Child("limited"), spec.Limited)...)
		errs = append(errs, unsetWithout(p.Child("exempt"), spec.Exempt)...)
		errs = append(errs, requiredOneOf(p.Child("type"), spec.Type, flowcontrolv1.PriorityLevelEnablementExempt, flowcontrolv1.PriorityLevelEnablementLimited)...)
	}
	return errs
}

// unsetWithout forbids a field that only one of the types has, for an object of no known type.
func unsetWithout[T any](p *field.Path, value *T) field.ErrorList {
	if value == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(p, "")}
}

func validateShares(p *field.Path, shares, lendable *int32) field.ErrorList {
	var errs field.ErrorList
	if shares != nil && *shares < 0 {
		errs = append(errs, field.Invalid(p.Child("nominalConcurrencyShares"), *shares, "must be a non-negative integer"))
	}
	if lendable != nil && (*lendable < 0 || *lendable > 100) {
		errs = append(errs, field.Invalid(p.Child("lendablePercent"), *lendable, "must be between 0 and 100, inclusive"))
	}
	return errs
}

func validateLimited(p *field.Path, l *flowcontrolv1.LimitedPriorityLevelConfiguration) field.ErrorList {
	errs := validateShares(p, l.NominalConcurrencyShares, l.LendablePercent)
	if b := l.BorrowingLimitPercent; b != nil && *b < 0 {
		errs = append(errs, field.Invalid(p.Child("borrowingLimitPercent"), *b, "if specified, must be a non-negative integer"))
	}
	at, queuing := p.Child("limitResponse"), l.LimitResponse.Queuing
	switch l.LimitResponse.Type {
	case flowcontrolv1.LimitResponseTypeReject:
		if queuing != nil {
			errs = append(errs, field.Forbidden(at.Child("queuing"), "must be nil if limited.limitResponse.type is not Limited"))
		}
	case flowcontrolv1.LimitResponseTypeQueue:
		if queuing == nil {
			return append(errs, field.Required(at.Child("queuing"), "must not be empty if limited.limitResponse.type is Limited"))
		}
		errs = append(errs, validateQueuing(at.Child("queuing"), queuing)...)
	default:
		errs = append(errs, unsetWithout(at.Child("queuing"), queuing)...)
		errs = append(errs, requiredOneOf(at.Child("type"), l.LimitResponse.Type, flowcontrolv1.LimitResponseTypeQueue, flowcontrolv1.LimitResponseTypeReject)...)
	}
	return errs
}

const maxQueues = 10 * 1000 * 1000

func validateQueuing(p *field.Path, q *flowcontrolv1.QueuingConfiguration) field.ErrorList {
	var errs field.ErrorList
	for _, n := range []count{{"queueLengthLimit", q.QueueLengthLimit}, {"queues", q.Queues}, {"handSize", q.HandSize}} {
		if n.value <= 0 {
			errs = append(errs, field.Invalid(p.Child(n.name), n.value, "must be positive"))
		}
	}
	if q.Queues > maxQueues {
		errs = append(errs, field.Invalid(p.Child("queues"), q.Queues, fmt.Sprintf("must not be greater than %d", maxQueues)))
	}
	if q.HandSize > q.Queues {
		errs = append(errs, field.Invalid(p.Child("handSize"), q.HandSize, fmt.Sprintf("should not be greater than queues (%d)", q.Queues)))
	}
	return errs
}

func PriorityLevelConfigurationStatus(l, _ *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	return namedConditions(field.NewPath("status", "conditions"), l.Status.Conditions,
		func(c *flowcontrolv1.PriorityLevelConfigurationCondition) string { return string(c.Type) })
}
