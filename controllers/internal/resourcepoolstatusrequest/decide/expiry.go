package decide

import (
	"time"

	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
)

// The time for which requests are kept, as upstream.
const (
	answeredFor = time.Hour
	pendingFor  = 24 * time.Hour
)

// Expiry returns the time at which a request has to be deleted.
func Expiry(r *resourcev1alpha3.ResourcePoolStatusRequest) time.Time {
	if r.Status == nil {
		return r.CreationTimestamp.Add(pendingFor)
	}
	for _, c := range r.Status.Conditions {
		switch c.Type {
		case resourcev1alpha3.ResourcePoolStatusRequestConditionComplete, resourcev1alpha3.ResourcePoolStatusRequestConditionFailed:
			return c.LastTransitionTime.Add(answeredFor)
		}
	}
	return r.CreationTimestamp.Add(answeredFor)
}
