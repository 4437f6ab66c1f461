package resourceclaim

import (
	"github.com/prometheus/client_golang/prometheus"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	resourcelisters "k8s.io/client-go/listers/resource/v1"

	"minikcm.dev/minikcm/controllers/internal/env"
)

// census counts the resource claims in the cache at each scrape, with upstream's names.
type census struct {
	claims resourcelisters.ResourceClaimLister
	desc   *prometheus.Desc
}

func newCensus(claims resourcelisters.ResourceClaimLister) *census {
	return &census{claims, prometheus.NewDesc("dynamic_resource_allocation_resource_claims",
		"ResourceClaims by whether they are allocated, by administrative access, and by what they were created for: resource_claim_template, extended_resource, or empty for those of users.",
		[]string{"allocated", "admin_access", "source"}, nil)}
}

func (c *census) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

func (c *census) Collect(metrics chan<- prometheus.Metric) {
	all, err := c.claims.List(labels.Everything())
	if err != nil {
		return // a cache has no errors
	}
	type kind struct{ allocated, adminAccess, source string }
	counts := map[kind]int{}
	for _, claim := range all {
		k := kind{"false", env.AdminAccess(claim), ""}
		if claim.Status.Allocation != nil {
			k.allocated = "true"
		}
		if claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" {
			k.source = "extended_resource"
		} else if claim.Annotations[resourcev1.PodResourceClaimAnnotation] != "" {
			k.source = "resource_claim_template"
		}
		counts[k]++
	}
	for k, n := range counts {
		metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), k.allocated, k.adminAccess, k.source)
	}
}
