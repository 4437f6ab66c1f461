package access_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/node"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
	"sigs.k8s.io/yaml"
)

const (
	nodeTable     = "../../../apiserver/internal/nodeauthorizer/testdata/access.yaml"
	nodeRecording = "../../../apiserver/internal/nodeauthorizer/testdata/access.golden"
)

// nodeCases are the content of the table of the Node authorizer.
type nodeCases struct {
	Objects struct {
		Pods              []*corev1.Pod                 `json:"pods"`
		PersistentVolumes []*corev1.PersistentVolume    `json:"persistentVolumes"`
		VolumeAttachments []*storagev1.VolumeAttachment `json:"volumeAttachments"`
		ResourceSlices    []*resourcev1.ResourceSlice   `json:"resourceSlices"`
	} `json:"objects"`
	Users []struct {
		Name   string   `json:"name"`
		Groups []string `json:"groups"`
	} `json:"users"`
	Requests []nodeRequest `json:"requests"`
}

// nodeRequest stands for all combinations of its verbs, namespaces and names.
type nodeRequest struct {
	Group, Resource, Subresource, Path, FieldSelector string
	Verbs, Namespaces, Names                          []string
}

// TestNodeRecording compares the recording of the Node authorizer with upstream's answers.
func TestNodeRecording(t *testing.T) {
	data, err := os.ReadFile(nodeTable)
	if err != nil {
		t.Fatal(err)
	}
	var all nodeCases
	if err := yaml.UnmarshalStrict(data, &all); err != nil {
		t.Fatal(err)
	}
	upstream := nodeAuthorizerOf(&all)
	var answers bytes.Buffer
	for _, u := range all.Users {
		for _, r := range all.Requests {
			if r.Path != "" {
				r.Namespaces, r.Names = []string{""}, []string{""}
			}
			for _, verb := range r.Verbs {
				for _, namespace := range r.Namespaces {
					for _, name := range r.Names {
						answerNode(t, &answers, upstream, &user.DefaultInfo{Name: u.Name, Groups: u.Groups}, &r, verb, namespace, name)
					}
				}
			}
		}
	}
	if *update {
		if err := os.WriteFile(nodeRecording, answers.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(nodeRecording)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(recorded, answers.Bytes()) {
		t.Errorf("%s differs from upstream's answers (-update rewrites it)", nodeRecording)
	}
}

// nodeAuthorizerOf returns upstream's authorizer of the table's objects.
func nodeAuthorizerOf(all *nodeCases) authorizer.Authorizer {
	graph := node.NewGraph()
	for _, pod := range all.Objects.Pods {
		if pod.Spec.NodeName != "" { // as the graph's event handlers
			graph.AddPod(pod)
		}
	}
	for _, volume := range all.Objects.PersistentVolumes {
		graph.AddPV(volume)
	}
	for _, a := range all.Objects.VolumeAttachments {
		graph.AddVolumeAttachment(a.Name, a.Spec.NodeName)
	}
	for _, s := range all.Objects.ResourceSlices {
		graph.AddResourceSlice(s.Name, *s.Spec.NodeName)
	}
	return node.NewAuthorizer(graph, nodeidentifier.NewDefaultNodeIdentifier(), bootstrappolicy.NodeRules())
}

// answerNode writes upstream's answer to a request.
func answerNode(t *testing.T, answers *bytes.Buffer, upstream authorizer.Authorizer, u *user.DefaultInfo, r *nodeRequest, verb, namespace, name string) {
	t.Helper()
	attributes := authorizer.AttributesRecord{
		User: u, Verb: verb, APIGroup: r.Group, APIVersion: "v1", Resource: r.Resource, Subresource: r.Subresource,
		Namespace: namespace, Name: name, Path: r.Path, ResourceRequest: r.Path == "",
	}
	if r.FieldSelector != "" {
		selector, err := fields.ParseSelector(r.FieldSelector)
		if err != nil {
			t.Fatal(err)
		}
		attributes.FieldSelectorRequirements = selector.Requirements()
	}
	decision, reason, err := upstream.Authorize(context.Background(), attributes)
	fmt.Fprintf(answers, "%s %v %s %s/%s/%s %s/%s %s%s: %v %q %v\n", u.Name, u.Groups, verb, r.Group, r.Resource, r.Subresource, namespace, name, r.Path, r.FieldSelector, decision == authorizer.DecisionAllow, reason, err)
}
