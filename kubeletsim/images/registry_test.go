package images

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestRegistry(t *testing.T) {
	var r Registry
	if why := r.Missing("nosuch/image:doesnotexist"); why != "" {
		t.Errorf("without a list: %s", why)
	}
	list := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "registry", Labels: map[string]string{LabelRegistry: ""}}}
	list.Data = map[string]string{"images": "nginx # any tag\nredis:7*\nquay.io/argoproj/argocd:v3.1\n\nregistry.example.com/team/*\n"}
	if !r.Update(list) {
		t.Error("the list has changed nothing")
	}
	for image, want := range map[string]string{
		"nginx": "", "nginx:1.27": "", "docker.io/library/nginx:1": "", "nginx@sha256:abc": "", "redis:7.2": "", "quay.io/argoproj/argocd:v3.1": "", "registry.example.com/team/a:1": "",
		"redis:6":                   `rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/redis:6": failed to resolve reference "docker.io/library/redis:6": docker.io/library/redis:6: not found`,
		"nosuch/image:doesnotexist": `rpc error: code = Unknown desc = failed to pull and unpack image "docker.io/nosuch/image:doesnotexist": failed to resolve reference "docker.io/nosuch/image:doesnotexist": pull access denied, repository does not exist`,
		"quay.io/other:1":           `quay.io/other:1: not found`,
		"quay.io/argoproj/argocd":   `quay.io/argoproj/argocd:latest: not found`,
	} {
		if got := r.Missing(image); want == "" != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", image, got, want)
		}
	}
	if !r.Forget(types.NamespacedName{Namespace: "kube-system", Name: "registry"}) || r.Missing("redis:6") != "" {
		t.Error("the list is not forgotten")
	}
}
