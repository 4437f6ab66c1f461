package decide

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// limits are the allowed deviations of a rollout from the wanted number of pods.
type limits struct{ surge, unavailable int32 }

// limitsOf resolves the strategy's percentages: it rounds the surge up and the unavailable
// pods down. If both are zero, one pod may be unavailable, because the rollout could not
// proceed.
func limitsOf(d *appsv1.Deployment) limits {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return limits{}
	}
	wanted := wantedReplicas(d)
	var l limits
	if rolling := d.Spec.Strategy.RollingUpdate; rolling != nil {
		l.surge = resolve(rolling.MaxSurge, wanted, true)
		l.unavailable = resolve(rolling.MaxUnavailable, wanted, false)
	}
	if l.surge == 0 && l.unavailable == 0 {
		l.unavailable = 1
	}
	l.unavailable = min(l.unavailable, wanted)
	return l
}

// resolve returns an absolute number or a percentage of total. Validation ensures that the
// value is one of them.
func resolve(value *intstr.IntOrString, total int32, roundUp bool) int32 {
	if value == nil {
		return 0
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(value, int(total), roundUp)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}

func wantedReplicas(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}
