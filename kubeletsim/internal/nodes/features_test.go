package nodes

import (
	"slices"
	"testing"

	"k8s.io/component-helpers/nodedeclaredfeatures"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

func TestDeclaredFeatures(t *testing.T) {
	const ours = "RestartAllContainersOnContainerExits"
	for _, tt := range []struct {
		name, kubelet  string
		declared, want []string
	}{
		{"new node", "v1.37.2", nil, []string{ours}},
		{"declared before", "v1.37.2", []string{ours}, []string{ours}},
		{"since 1.36", "v1.36.0-rc.1+k3s1", nil, []string{ours}},
		{"older kubelet", "v1.35.9", nil, nil},
		{"older kubelet after a newer one", "v1.34.0", []string{ours}, nil},
		{"no version", "fake", nil, []string{ours}},
		{"with those of clients", "v1.37.2", []string{"Another", "UserNamespacesHostNetworkSupport"}, []string{"Another", ours, "UserNamespacesHostNetworkSupport"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := declaredFeatures(tt.declared, tt.kubelet); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Each gate is one of upstream's library, which declares the feature of that name.
func TestSimulatedGates(t *testing.T) {
	for gate := range simulatedGates {
		needs, err := nodedeclaredfeatures.DefaultFramework.GetFeatureRequirements(gate)
		if err != nil || !slices.Equal(needs.EnabledFeatureGates, []string{gate}) || needs.RequiredRuntimeFeatures != nil {
			t.Errorf("%s: %+v, %v", gate, needs, err)
		}
	}
	n := testNode(t)
	object := Object(n, Versions{Kubelet: "v1.37.2"}, podtest.Epoch)
	if len(object.Status.DeclaredFeatures) != len(simulatedGates) {
		t.Errorf("a node declares %q", object.Status.DeclaredFeatures)
	}
}
