package columns

import (
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
)

// FlowSchema is the Table of flowcontrol.apiserver.k8s.io/v1 FlowSchemas.
func FlowSchema() Table {
	doc := flowcontrolv1.FlowSchemaSpec{}.SwaggerDoc()
	return table(func(s *flowcontrolv1.FlowSchema, now time.Time) []any {
		method, missing := none, "?"
		if s.Spec.DistinguisherMethod != nil {
			method = string(s.Spec.DistinguisherMethod.Type)
		}
		for _, c := range s.Status.Conditions {
			if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
				missing = string(c.Status)
			}
		}
		return []any{
			s.Name, s.Spec.PriorityLevelConfiguration.Name, int64(s.Spec.MatchingPrecedence), method,
			age(s.CreationTimestamp, now), missing,
		}
	},
		nameColumn(),
		text("PriorityLevel", doc["priorityLevelConfiguration"]),
		text("MatchingPrecedence", doc["matchingPrecedence"]),
		text("DistinguisherMethod", doc["distinguisherMethod"]),
		ageColumn(),
		text("MissingPL", "Whether there is no such priority level."),
	)
}

// PriorityLevelConfiguration is the Table of flowcontrol.apiserver.k8s.io/v1
// PriorityLevelConfigurations.
func PriorityLevelConfiguration() Table {
	limited, queuing := flowcontrolv1.LimitedPriorityLevelConfiguration{}.SwaggerDoc(), flowcontrolv1.QueuingConfiguration{}.SwaggerDoc()
	return table(func(l *flowcontrolv1.PriorityLevelConfiguration, now time.Time) []any {
		var shares, queues, hand, length any = none, none, none, none
		if e := l.Spec.Exempt; e != nil && e.NominalConcurrencyShares != nil {
			shares = int64(*e.NominalConcurrencyShares)
		}
		if limit := l.Spec.Limited; limit != nil {
			shares = int64(deref(limit.NominalConcurrencyShares))
			if q := limit.LimitResponse.Queuing; q != nil {
				queues, hand, length = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
			}
		}
		return []any{l.Name, string(l.Spec.Type), shares, queues, hand, length, age(l.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Type", flowcontrolv1.PriorityLevelConfigurationSpec{}.SwaggerDoc()["type"]),
		text("NominalConcurrencyShares", limited["nominalConcurrencyShares"]),
		text("Queues", queuing["queues"]),
		text("HandSize", queuing["handSize"]),
		text("QueueLengthLimit", queuing["queueLengthLimit"]),
		ageColumn(),
	)
}
