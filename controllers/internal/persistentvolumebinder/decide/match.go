package decide

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// bestMatch returns the volume for a claim that names none; nil: there is none. A volume that
// is reserved for the claim by its claimRef comes first. The others are ordered by the number of
// access modes, then by size, then in the order of volumes. If delayed is true, only reserved
// volumes are considered.
func bestMatch(claim *corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume, delayed bool) (*corev1.PersistentVolume, error) {
	groups := map[int][]*corev1.PersistentVolume{}
	most := 0
	for _, volume := range volumes {
		if !storagehelpers.CheckAccessModes(claim, volume) {
			continue
		}
		n := len(volume.Spec.AccessModes)
		if volume.Spec.ClaimRef != nil {
			n = 0 // before all others
		}
		groups[n] = append(groups[n], volume)
		most = max(most, n)
	}
	for n := range most + 1 {
		found, err := storagehelpers.FindMatchingVolume(claim, groups[n], nil, nil, delayed, true)
		if err != nil {
			return nil, fmt.Errorf("finding a volume for claim %s/%s: %w", claim.Namespace, claim.Name, err)
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, nil
}
