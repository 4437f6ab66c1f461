package framework

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/ephemeral"
)

// PodClaim is a PersistentVolumeClaim that a pod uses.
type PodClaim struct {
	Name string
	// Ephemeral is set if the claim is created for the pod.
	Ephemeral bool
}

func newClaims(pod *corev1.Pod) []PodClaim {
	var claims []PodClaim
	for i := range pod.Spec.Volumes {
		switch v := &pod.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			claims = append(claims, PodClaim{Name: v.PersistentVolumeClaim.ClaimName})
		case v.Ephemeral != nil:
			claims = append(claims, PodClaim{Name: ephemeral.VolumeClaimName(pod, v), Ephemeral: true})
		}
	}
	return claims
}

// Uses reports whether the pod uses a claim.
func (p *PodInfo) Uses(claim types.NamespacedName) bool {
	if p.Pod.Namespace != claim.Namespace {
		return false
	}
	for _, c := range p.Claims {
		if c.Name == claim.Name {
			return true
		}
	}
	return false
}
