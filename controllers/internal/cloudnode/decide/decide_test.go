package decide

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/simulatedcloud"
)

var instance = simulatedcloud.Instance{
	Name: "a", ProviderID: "simulated:///eu-1a/i-1", Type: "large", Zone: "eu-1a", Region: "eu-1", Address: "10.0.0.1",
}

func TestInitialized(t *testing.T) {
	t.Parallel()
	other := corev1.Taint{Key: "a", Effect: corev1.TaintEffectNoSchedule}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{corev1.LabelTopologyZone: "old"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: simulatedcloud.TaintUninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}, other}},
	}
	before := node.DeepCopy()
	if !IsUninitialized(node) {
		t.Error("the taint is not seen")
	}
	got := Initialized(node, &instance)
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{
			"beta.kubernetes.io/instance-type": "large", "node.kubernetes.io/instance-type": "large",
			"failure-domain.beta.kubernetes.io/zone": "eu-1a", "topology.kubernetes.io/zone": "eu-1a",
			"failure-domain.beta.kubernetes.io/region": "eu-1", "topology.kubernetes.io/region": "eu-1",
		}},
		Spec: corev1.NodeSpec{ProviderID: instance.ProviderID, Taints: []corev1.Taint{other}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Initialized() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, node); diff != "" {
		t.Errorf("the Node of the cache was changed:\n%s", diff)
	}
	got.Spec.ProviderID = "simulated:///x/i-2"
	if again := Initialized(got, &simulatedcloud.Instance{ProviderID: "b"}); IsUninitialized(got) || again.Spec.ProviderID != "simulated:///x/i-2" || len(again.Labels) != 6 {
		t.Errorf("an instance that states nothing changes %+v", again)
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ labels, want map[string]string }{
		"none":          {nil, nil},
		"equal":         {map[string]string{corev1.LabelFailureDomainBetaZone: "a", corev1.LabelTopologyZone: "a"}, nil},
		"only stable":   {map[string]string{corev1.LabelTopologyZone: "a"}, nil},
		"only beta":     {map[string]string{corev1.LabelInstanceType: "a"}, map[string]string{corev1.LabelInstanceTypeStable: "a"}},
		"beta prevails": {map[string]string{corev1.LabelFailureDomainBetaRegion: "a", corev1.LabelTopologyRegion: "b"}, map[string]string{corev1.LabelTopologyRegion: "a"}},
	} {
		if diff := cmp.Diff(tt.want, Labels(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: tt.labels}})); diff != "" {
			t.Errorf("%s: Labels() (-want +got):\n%s", name, diff)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	node := &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: "InternalIP", Address: "10.0.0.1"}, {Type: "Hostname", Address: "a"}}}}
	want := []corev1.NodeAddress{{Type: "InternalIP", Address: "10.0.0.1"}, {Type: "InternalDNS", Address: "a.eu-1a.internal"}, {Type: "Hostname", Address: "a"}}
	got, err := Addresses(node, &instance)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("Addresses() (-want +got):\n%s%v", diff, err)
	}
	if SameAddresses(node, got) {
		t.Error("a missing address is not seen")
	}
	node.Status.Addresses = got
	if !SameAddresses(node, got) {
		t.Error("equal addresses differ")
	}
	node.Annotations = map[string]string{simulatedcloud.AnnotationProvidedIP: "10.0.0.2"}
	if _, err := Addresses(node, &instance); err == nil || !strings.Contains(err.Error(), "matches ip: 10.0.0.2") {
		t.Errorf("the address of another machine: %v", err)
	}
}
