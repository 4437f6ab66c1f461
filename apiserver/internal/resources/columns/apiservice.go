package columns

import (
	"time"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// APIService is the Table of apiregistration.k8s.io/v1 APIServices.
func APIService() Table {
	return table(func(s *apiregistrationv1.APIService, now time.Time) []any {
		service := "Local"
		if ref := s.Spec.Service; ref != nil {
			service = ref.Namespace + "/" + ref.Name
		}
		return []any{s.Name, service, availability(s), age(s.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Service", "The reference to the service that hosts this API endpoint."),
		text("Available", "Whether this service is available."),
		ageColumn(),
	)
}

// availability returns the status of the condition Available, with the reason unless it
// is true.
func availability(s *apiregistrationv1.APIService) string {
	for _, condition := range s.Status.Conditions {
		if condition.Type != apiregistrationv1.Available {
			continue
		}
		if condition.Status != apiregistrationv1.ConditionTrue && condition.Reason != "" {
			return string(condition.Status) + " (" + condition.Reason + ")"
		}
		return string(condition.Status)
	}
	return string(apiregistrationv1.ConditionUnknown)
}
