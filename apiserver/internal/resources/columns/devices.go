package columns

import (
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
)

// DeviceClass is the Table of resource.k8s.io/v1 DeviceClasses.
func DeviceClass() Table { return Default() }

// DeviceTaintRule is the Table of resource.k8s.io/v1 DeviceTaintRules.
func DeviceTaintRule() Table {
	doc := resourcev1.DeviceTaint{}.SwaggerDoc()
	return table(func(r *resourcev1.DeviceTaintRule, now time.Time) []any {
		taint, added := r.Spec.Taint, ""
		if taint.TimeAdded != nil {
			added = age(*taint.TimeAdded, now)
		}
		return []any{r.Name, taint.Key, taint.Value, string(taint.Effect), added, age(r.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Key", doc["key"]),
		text("Value", doc["value"]),
		text("Effect", doc["effect"]),
		text("TimeAdded", doc["timeAdded"]),
		ageColumn(),
	)
}

// ResourceClaimTemplate is the Table of resource.k8s.io/v1 ResourceClaimTemplates.
func ResourceClaimTemplate() Table { return Default() }

// ResourceClaim is the Table of resource.k8s.io/v1 ResourceClaims.
func ResourceClaim() Table {
	return table(func(c *resourcev1.ResourceClaim, now time.Time) []any {
		return []any{c.Name, claimState(c), age(c.CreationTimestamp, now)}
	},
		nameColumn(),
		text("State", "Whether the claim has devices, and which consumers hold them."),
		ageColumn(),
	)
}

func claimState(c *resourcev1.ResourceClaim) string {
	var states []string
	if c.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	switch {
	case c.Status.Allocation != nil && len(c.Status.ReservedFor) > 0:
		states = append(states, "allocated", "reserved")
	case c.Status.Allocation != nil:
		states = append(states, "allocated")
	case c.DeletionTimestamp == nil:
		states = append(states, "pending")
	}
	return strings.Join(states, ",")
}

// ResourceSlice is the Table of resource.k8s.io/v1 ResourceSlices.
func ResourceSlice() Table {
	doc := resourcev1.ResourceSliceSpec{}.SwaggerDoc()
	return table(func(s *resourcev1.ResourceSlice, now time.Time) []any {
		return []any{s.Name, deref(s.Spec.NodeName), s.Spec.Driver, s.Spec.Pool.Name, age(s.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Node", doc["nodeName"]),
		text("Driver", doc["driver"]),
		text("Pool", resourcev1.ResourcePool{}.SwaggerDoc()["name"]),
		ageColumn(),
	)
}
