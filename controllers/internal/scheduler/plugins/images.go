package plugins

import "strings"

// Images of less than minImageBytes for the whole pod do not matter to ImageLocality, nor do bytes
// beyond maxImageBytes for each container.
const (
	minImageBytes = 23 << 20
	maxImageBytes = 1000 << 20
)

// scoreImages is ImageLocality: the more bytes of the pod's images a node has, the higher its
// score. An image counts by the share of the nodes that have it, so that pods do not all follow an
// image to the only node with it.
func scoreImages(in *Input, indexes []int) ([]int64, func([]int64)) {
	if !in.Snapshot.HasImages() && in.Trace == nil {
		return nil, nil
	}
	scores := in.zeros(len(indexes))
	spec := &in.Pod.Pod.Spec
	containers := len(spec.Containers) + len(spec.InitContainers)
	found := false
	add := func(image string) {
		name := normalImage(image)
		nodes := in.Snapshot.NodesWithImage(name)
		if nodes == 0 {
			return
		}
		found = true
		spread := float64(nodes) / float64(in.Snapshot.Len())
		for i, index := range indexes {
			scores[i] += int64(float64(in.Snapshot.Nodes()[index].Images[name]) * spread)
		}
	}
	for i := range spec.InitContainers {
		add(spec.InitContainers[i].Image)
	}
	for i := range spec.Containers {
		add(spec.Containers[i].Image)
	}
	switch {
	case !found && in.Trace == nil:
		return nil, nil
	case !found:
		return scores, nil
	}
	most := int64(maxImageBytes * containers)
	for i, sum := range scores {
		sum = min(max(sum, minImageBytes), most)
		scores[i] = maxScore * (sum - minImageBytes) / (most - minImageBytes)
	}
	return scores, nil
}

// normalImage adds the tag latest to an image without a tag, as the status of nodes names it.
func normalImage(name string) string {
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
		return name + ":latest"
	}
	return name
}
