package columns

import (
	"fmt"
	"strconv"
	"time"

	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourcePoolStatusRequest is the Table of resource.k8s.io/v1alpha3 ResourcePoolStatusRequests.
func ResourcePoolStatusRequest() Table {
	return table(func(r *resourcev1alpha3.ResourcePoolStatusRequest, now time.Time) []any {
		cells := append([]any{r.Name, r.Spec.Driver}, poolSums(r.Status)...)
		return append(cells, poolState(r.Status, now)...)
	},
		nameColumn(),
		text("Driver", "The driver whose pools are counted."),
		text("Total", "The devices of all pools."),
		text("Available", "The devices that are available."),
		text("Allocated", "The devices that are allocated."),
		text("Unavailable", "The devices that are not available."),
		text("Errors", "The pools that have errors."),
		integer("Pools", "The pools that match."),
		text("Status", "Whether the request has an answer."),
		text("Completed", "The time since the answer."),
	)
}

// poolSums returns the sums of devices of all pools, and the number of pools that have errors.
func poolSums(s *resourcev1alpha3.ResourcePoolStatusRequestStatus) []any {
	if s == nil || meta.IsStatusConditionTrue(s.Conditions, resourcev1alpha3.ResourcePoolStatusRequestConditionFailed) {
		return []any{"-", "-", "-", "-", "-"}
	}
	var total, available, allocated, unavailable int64
	wrong := 0
	for i := range s.Pools {
		p := &s.Pools[i]
		total += int64(deref(p.TotalDevices))
		available += int64(deref(p.AvailableDevices))
		allocated += int64(deref(p.AllocatedDevices))
		unavailable += int64(deref(p.UnavailableDevices))
		if p.ValidationError != nil {
			wrong++
		}
	}
	sum := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []any{sum(total), sum(available), sum(allocated), sum(unavailable), strconv.Itoa(wrong)}
}

// poolState returns the number of pools, the state of the request, and the time since it was completed.
func poolState(s *resourcev1alpha3.ResourcePoolStatusRequestStatus, now time.Time) []any {
	if s == nil {
		return []any{int64(0), "Pending", none}
	}
	pools := int64(deref(s.PoolCount))
	for _, c := range s.Conditions {
		switch {
		case c.Status != metav1.ConditionTrue:
		case c.Type == resourcev1alpha3.ResourcePoolStatusRequestConditionComplete:
			state := "Complete"
			if pools > int64(len(s.Pools)) {
				state = fmt.Sprintf("Complete (%d/%d pools)", len(s.Pools), pools)
			}
			return []any{pools, state, age(c.LastTransitionTime, now)}
		case c.Type == resourcev1alpha3.ResourcePoolStatusRequestConditionFailed:
			return []any{pools, "Failed", none}
		}
	}
	return []any{pools, "Pending", none}
}
