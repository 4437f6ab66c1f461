package apiservices

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// ManagedLabel marks the APIServices that a server creates for the versions that it
// serves itself: with onStart for built-in versions, with always for versions of
// CustomResourceDefinitions.
const (
	ManagedLabel = "kube-aggregator.kubernetes.io/automanaged"
	onStart      = "onstart"
	always       = "true"
)

// Priorities of versions for which upstream's server has none. The values are a metrics server's.
const (
	otherGroupPriority   = 100
	otherVersionPriority = 100
	// Priorities of CustomResourceDefinitions.
	customGroupPriority   = 1000
	customVersionPriority = 100
	// ownGroupPriority is the priority of APIServices themselves: the highest, as upstream.
	ownGroupPriority = 20001
)

// Local returns the APIService of a version that the server serves itself. custom
// reports that the version is defined by a CustomResourceDefinition.
func Local(gv schema.GroupVersion, custom bool) *apiregistrationv1.APIService {
	s := &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: gv.Version + "." + gv.Group, Labels: map[string]string{ManagedLabel: onStart}},
		Spec:       apiregistrationv1.APIServiceSpec{Group: gv.Group, Version: gv.Version},
	}
	if custom {
		s.Labels[ManagedLabel] = always
		s.Spec.GroupPriorityMinimum, s.Spec.VersionPriority = customGroupPriority, customVersionPriority
	} else {
		s.Spec.GroupPriorityMinimum, s.Spec.VersionPriority = priority(gv)
	}
	return s
}

// Managed reports whether a server created the APIService, and thus keeps or deletes
// it.
func Managed(s *apiregistrationv1.APIService) bool {
	label := s.Labels[ManagedLabel]
	return s.Spec.Service == nil && (label == onStart || label == always)
}

// ReasonLocal is the reason of the condition Available of a version that this server serves.
const ReasonLocal = "Local"

// LocalCondition returns the condition Available of a version that this server serves.
func LocalCondition() apiregistrationv1.APIServiceCondition {
	return apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue,
		Reason: ReasonLocal, Message: "Local APIServices are always available",
	}
}

// SetCondition adds or replaces a condition. The time of the last transition changes with
// the status only.
func SetCondition(s *apiregistrationv1.APIService, condition apiregistrationv1.APIServiceCondition, now metav1.Time) {
	condition.LastTransitionTime = now
	for i := range s.Status.Conditions {
		known := &s.Status.Conditions[i]
		if known.Type != condition.Type {
			continue
		}
		if known.Status == condition.Status {
			condition.LastTransitionTime = known.LastTransitionTime
		}
		*known = condition
		return
	}
	s.Status.Conditions = append(s.Status.Conditions, condition)
}

// setAvailable sets the status of a new APIService. The servers of others are checked
// later.
func setAvailable(s *apiregistrationv1.APIService, now metav1.Time) {
	s.Status = apiregistrationv1.APIServiceStatus{}
	if s.Spec.Service == nil {
		SetCondition(s, LocalCondition(), now)
	}
}

// GroupPriority returns the priority of a group that this server serves.
func GroupPriority(group string, custom bool) int32 {
	switch {
	case custom:
		return customGroupPriority
	case group == Resource().Group:
		return ownGroupPriority
	}
	priority, _ := priority(schema.GroupVersion{Group: group})
	return priority
}

// priority returns upstream's priorities of a built-in version.
func priority(gv schema.GroupVersion) (group, version int32) {
	if group = groupPriorities()[gv.Group]; group == 0 {
		return otherGroupPriority, otherVersionPriority
	}
	switch {
	case gv.Group == "":
		return group, 1
	case gv.Group == "autoscaling" && gv.Version == "v2":
		return group, 30
	case (gv.Group == "flowcontrol.apiserver.k8s.io" || gv.Group == "resource.k8s.io") && gv.Version == "v1":
		return group, 21
	case gv.Group == "internal.apiserver.k8s.io":
		return group, 9
	case strings.Contains(gv.Version, "alpha"):
		return group, 1
	case strings.Contains(gv.Version, "beta"):
		return group, 9
	}
	return group, 15
}

func groupPriorities() map[string]int32 {
	return map[string]int32{
		"":                             18000,
		"apps":                         17800,
		"events.k8s.io":                17750,
		"authentication.k8s.io":        17700,
		"authorization.k8s.io":         17600,
		"autoscaling":                  17500,
		"batch":                        17400,
		"certificates.k8s.io":          17300,
		"networking.k8s.io":            17200,
		"policy":                       17100,
		"rbac.authorization.k8s.io":    17000,
		"storage.k8s.io":               16800,
		"apiextensions.k8s.io":         16700,
		"admissionregistration.k8s.io": 16700,
		"scheduling.k8s.io":            16600,
		"coordination.k8s.io":          16500,
		"node.k8s.io":                  16300,
		"discovery.k8s.io":             16200,
		"resource.k8s.io":              16200,
		"flowcontrol.apiserver.k8s.io": 16100,
		"internal.apiserver.k8s.io":    16000,
		"storagemigration.k8s.io":      15800,
	}
}
