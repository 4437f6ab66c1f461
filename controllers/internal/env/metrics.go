package env

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Register registers a collector, and returns it, or the equal one that the Registry has already: of another controller,
// or of an earlier instance of this one, whose counts go on.
func Register[C prometheus.Collector](e *Env, collector C) C {
	if e.Registry == nil {
		return collector
	}
	err := e.Registry.Register(collector)
	var known prometheus.AlreadyRegisteredError
	if errors.As(err, &known) {
		if same, ok := known.ExistingCollector.(C); ok {
			return same
		}
	}
	if err != nil {
		e.Logger.Error(err, "Cannot register metrics")
	}
	return collector
}

// ClaimCreates counts the requests that create resource claims, as the resourceclaim-controller and the scheduler do,
// with upstream's names.
type ClaimCreates struct{ total *prometheus.CounterVec }

// NewClaimCreates returns the counter that all controllers of the environment share.
func NewClaimCreates(e *Env) ClaimCreates {
	return ClaimCreates{Register(e, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "dynamic_resource_allocation_resourceclaim_creates_total",
		Help: "Requests that create ResourceClaims, by their result, by administrative access, and by the group and kind of the owner.",
	}, []string{"status", "admin_access", "owner_api_group", "owner_api_kind"}))}
}

// Count counts a request for a claim that ended with an error, or nil.
func (c ClaimCreates) Count(claim *resourcev1.ResourceClaim, err error) {
	status, group, kind := "success", "", ""
	if err != nil {
		status = "failure"
	}
	if owner := metav1.GetControllerOfNoCopy(claim); owner != nil {
		group, kind = schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group, owner.Kind
	}
	c.total.WithLabelValues(status, AdminAccess(claim), group, kind).Inc()
}

// AdminAccess is the label of a claim's metrics that says whether a request of the claim asks for administrative access.
func AdminAccess(claim *resourcev1.ResourceClaim) string {
	for i := range claim.Spec.Devices.Requests {
		if exactly := claim.Spec.Devices.Requests[i].Exactly; exactly != nil && exactly.AdminAccess != nil && *exactly.AdminAccess {
			return "true"
		}
	}
	return "false"
}
