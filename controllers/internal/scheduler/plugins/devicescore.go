package plugins

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
)

// scoreDevices is the score of DynamicResources: the earlier the alternatives are in the lists of the pod's
// resource claims that the devices of a node satisfy, the higher is its score (KEP-4816).
func scoreDevices(in *Input, indexes []int) ([]int64, func([]int64)) {
	if in.Devices == nil || len(in.Devices.unallocated) == 0 || in.Trace == nil && !slices.ContainsFunc(in.Devices.Claims, hasAlternatives) {
		return nil, nil
	}
	scores := in.zeros(len(indexes))
	for i, index := range indexes {
		scores[i] = in.Devices.score(in.Snapshot.Nodes()[index].Name())
	}
	return scores, normalizeHighest
}

func hasAlternatives(claim *resourcev1.ResourceClaim) bool {
	return slices.ContainsFunc(claim.Spec.Devices.Requests, func(r resourcev1.DeviceRequest) bool { return len(r.FirstAvailable) > 0 })
}

// score adds up the alternatives that were found for a node. Claims that were allocated before count as well.
func (d *Devices) score(node string) (score int64) {
	found := d.byNode[node].results
	for _, claim := range d.Claims {
		allocation := claim.Status.Allocation
		if allocation == nil {
			if len(found) == 0 {
				return 0 // no search for this node, which then is not feasible
			}
			allocation, found = &found[0], found[1:]
		}
		satisfied := map[string]bool{}
		for i := range allocation.Devices.Results {
			satisfied[allocation.Devices.Results[i].Request] = true
		}
		for i := range claim.Spec.Devices.Requests {
			request := &claim.Spec.Devices.Requests[i]
			for place := range request.FirstAvailable {
				if satisfied[request.Name+"/"+request.FirstAvailable[place].Name] {
					score += int64(resourcev1.FirstAvailableDeviceRequestMaxSize - place)
				}
			}
		}
	}
	return score
}
