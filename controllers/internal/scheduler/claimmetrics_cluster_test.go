package scheduler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

// TestClaimMetrics counts a claim that is made from a template and allocated, and the wait for its device.
func TestClaimMetrics(t *testing.T) {
	t.Parallel()
	c := newDeviceCluster(t)
	c.fabric()
	c.template("one", 1)
	c.pod("a", corev1.PodResourceClaim{ResourceClaimTemplateName: ptr.To("one")})
	claim := c.eventuallyAllocated(func(*resourcev1.ResourceClaim) bool { return true })
	c.must(nil, c.Advance(c.ctx, 9*time.Minute))
	c.report(claim, "example.com/attached")
	c.eventuallyRuns("a")
	c.mustMeasure(
		`scheduler_dra_bindingconditions_allocations_total{driver="gpu.example.com",profile="default-scheduler",status="success"} 1`,
		`scheduler_dra_bindingconditions_wait_duration_seconds_bucket{driver="gpu.example.com",profile="default-scheduler",status="success",le="409.6"} 0`,
		`scheduler_dra_bindingconditions_wait_duration_seconds_bucket{driver="gpu.example.com",profile="default-scheduler",status="success",le="819.2"} 1`,
		`dynamic_resource_allocation_resource_claims{admin_access="false",allocated="true",source="resource_claim_template"} 1`,
		`dynamic_resource_allocation_resourceclaim_creates_total{admin_access="false",owner_api_group="",owner_api_kind="Pod",status="success"} 1`,
	)
}

// mustMeasure checks that /metrics has the lines.
func (c *deviceCluster) mustMeasure(lines ...string) {
	c.t.Helper()
	all, err := c.Client().Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(c.ctx)
	c.must(all, err)
	have := strings.Split(string(all), "\n")
	for _, line := range lines {
		if !slices.Contains(have, line) {
			name, _, _ := strings.Cut(line, "{")
			c.t.Errorf("no metric %s, but %q", line, slices.DeleteFunc(slices.Clone(have), func(l string) bool { return !strings.HasPrefix(l, name) }))
		}
	}
}
