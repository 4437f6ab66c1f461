package admission

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

func TestNodeDeclaredFeatureValidator(t *testing.T) {
	const podLevel = "InPlacePodLevelResourcesVerticalScaling"
	nodes := map[string][]string{"new": {"ExtendWebSocketsToKubelet", podLevel}, "old": nil}
	plugin := NodeDeclaredFeatureValidator{
		Version: version.MustParse("v1.37.2"), Features: nodedeclaredfeatures.DefaultFramework,
		Node: func(_ context.Context, name string) (*corev1.Node, error) {
			features, ok := nodes[name]
			if !ok {
				return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
			}
			return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{DeclaredFeatures: features}}, nil
		},
	}
	cpu := func(amount string) *corev1.ResourceRequirements {
		return &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}}
	}
	for name, test := range map[string]struct {
		node, subresource string
		operation         Operation
		amount            string
		sameGeneration    bool
		want              string
	}{
		"declared":            {node: "new", subresource: "resize", operation: Update, amount: "2"},
		"not declared":        {node: "old", subresource: "resize", operation: Update, amount: "2", want: `pods "p" is forbidden: pod update requires features ` + podLevel + ` which are not available on node "old"`},
		"in a plain update":   {node: "old", operation: Update, amount: "2", want: `pods "p" is forbidden: pod update requires features ` + podLevel + ` which are not available on node "old"`},
		"no such node":        {node: "gone", subresource: "resize", operation: Update, amount: "2", want: `pods "p" is forbidden: node "gone" not found`},
		"nothing needed":      {node: "gone", subresource: "resize", operation: Update, amount: "1"},
		"not bound":           {subresource: "resize", operation: Update, amount: "2"},
		"the spec stays":      {node: "old", subresource: "resize", operation: Update, amount: "2", sameGeneration: true},
		"a status":            {node: "old", subresource: "status", operation: Update, amount: "2"},
		"a create":            {node: "old", operation: Create, amount: "2"},
		"ephemeralcontainers": {node: "old", subresource: "ephemeralcontainers", operation: Update, amount: "2"},
	} {
		t.Run(name, func(t *testing.T) {
			old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Generation: 1}, Spec: corev1.PodSpec{NodeName: test.node, Resources: cpu("1")}}
			pod := old.DeepCopy()
			pod.Spec.Resources = cpu(test.amount)
			if !test.sameGeneration {
				pod.Generation = 2
			}
			row := resources.Builtin().ByKind(corev1.SchemeGroupVersion.WithKind("Pod"))
			err := plugin.Check(t.Context(), &Attributes{Operation: test.operation, Resource: row, Subresource: test.subresource, Name: "p", Object: pod, Old: old})
			if got := text(err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
