package nodeauthorizer

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/apiserver/internal/rbac/policy"
	"minikcm.dev/minikcm/internal/auth"
)

// cases are the content of testdata/access.yaml.
type cases struct {
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
	Requests []request `json:"requests"`
}

type request struct {
	Group, Resource, Subresource, Path, FieldSelector string
	Verbs, Namespaces, Names                          []string
}

// each calls do with the combinations of a request.
func (r *request) each(do func(verb, namespace, name string)) {
	namespaces, names := r.Namespaces, r.Names
	if r.Path != "" {
		namespaces, names = []string{""}, []string{""}
	}
	for _, verb := range r.Verbs {
		for _, namespace := range namespaces {
			for _, name := range names {
				do(verb, namespace, name)
			}
		}
	}
}

// TestAnswersOfUpstream compares the answers to the requests in testdata/access.yaml with
// upstream's, which test/conformance/access records.
func TestAnswersOfUpstream(t *testing.T) {
	data, err := os.ReadFile("testdata/access.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all cases
	if err := yaml.UnmarshalStrict(data, &all); err != nil {
		t.Fatal(err)
	}
	ours := New(Sources{
		Pods: fixed(objects(all.Objects.Pods)...), PersistentVolumes: fixed(objects(all.Objects.PersistentVolumes)...),
		VolumeAttachments: fixed(objects(all.Objects.VolumeAttachments)...), ResourceSlices: fixed(objects(all.Objects.ResourceSlices)...),
		PodCertificateRequests: fixed(),
	}, policy.NodeRules())
	var answers bytes.Buffer
	for _, u := range all.Users {
		for _, r := range all.Requests {
			r.each(func(verb, namespace, name string) {
				decision, reason, err := ours.Authorize(t.Context(), auth.Attributes{
					User: &auth.User{Name: u.Name, Groups: u.Groups}, Verb: verb, Group: r.Group, Version: "v1", Plural: r.Resource,
					Subresource: r.Subresource, Namespace: namespace, Name: name, Path: r.Path, Resource: r.Path == "", FieldSelector: r.FieldSelector,
				})
				fmt.Fprintf(&answers, "%s %v %s %s/%s/%s %s/%s %s%s: %v %q %v\n", u.Name, u.Groups, verb, r.Group, r.Resource, r.Subresource, namespace, name, r.Path, r.FieldSelector, decision == auth.Allow, reason, err)
			})
		}
	}
	recorded, err := os.ReadFile("testdata/access.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(recorded), answers.String()); diff != "" {
		t.Errorf("upstream's answers (-) are not ours (+):\n%s", diff)
	}
}

func objects[T runtime.Object](list []T) []runtime.Object {
	all := make([]runtime.Object, len(list))
	for i, o := range list {
		all[i] = o
	}
	return all
}
