package nodes

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/features/restartallcontainers"
	"k8s.io/component-helpers/nodedeclaredfeatures/types"
)

// simulatedGates are the feature gates behind the declared features that the simulation has, each
// with the release since which it is on by default. Of the others that are on by default in 1.37,
// InPlacePodLevelResourcesVerticalScaling and InPlacePodVerticalScalingInitContainers are not
// simulated, and ExtendWebSocketsToKubelet is about streams that the API server serves itself.
var simulatedGates = map[string]*version.Version{
	restartallcontainers.RestartAllContainersOnContainerExits: version.MajorMinor(1, 36),
}

// featuresOf returns the features that a kubelet of that version declares (KEP-5328), sorted. A
// version that is none, such as kwok's "fake", counts as the newest.
func featuresOf(kubelet string) []string {
	gates := types.FeatureGateMap{}
	v, err := version.ParseGeneric(kubelet)
	for gate, since := range simulatedGates {
		gates[gate] = err != nil || v.AtLeast(since)
	}
	// Version is nil for a version that is none: then no feature is too old to be declared.
	return nodedeclaredfeatures.DefaultFramework.DiscoverNodeFeatures(&types.NodeConfiguration{FeatureGates: gates, Version: v})
}

// declaredFeatures returns the features in a node's status: the features of its kubelet, and what
// clients have added that the simulation does not know.
func declaredFeatures(declared []string, kubelet string) []string {
	features := featuresOf(kubelet)
	for _, name := range declared {
		if simulatedGates[name] == nil {
			features = append(features, name)
		}
	}
	slices.Sort(features)
	return features
}
