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
		"nginx": "", "nginx:1.27": "", "docker.io/library/nginx:1": "", "docker.io/nginx": "", "docker.io/nginx:1": "", "docker.io/redis:7": "", "library/nginx": "", "nginx:1@sha256:abc": "", "nginx@sha256:abc": "", "redis:7.2": "", "quay.io/argoproj/argocd:v3.1": "", "registry.example.com/team/a:1": "",
		"redis:6":                   `rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/redis:6": failed to resolve reference "docker.io/library/redis:6": docker.io/library/redis:6: not found`,
		"nosuch/image:doesnotexist": `rpc error: code = Unknown desc = failed to pull and unpack image "docker.io/nosuch/image:doesnotexist": failed to resolve reference "docker.io/nosuch/image:doesnotexist": pull access denied, repository does not exist`,
		"docker.io/redis:6":         `docker.io/library/redis:6: not found`,
		"redis:6@sha256:abc":        `docker.io/library/redis:6@sha256:abc: not found`,
		"Registry/nginx":            `Registry/nginx:latest: not found`,
		"localhost/nginx":           `localhost/nginx:latest: not found`,
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

// A profile applies to an image however the container or the profile spells its reference.
func TestProfileSpellings(t *testing.T) {
	for pattern, want := range map[string]map[string]bool{
		"httpd:*":                     {"httpd": true, "httpd:2": true, "docker.io/httpd:2": true, "docker.io/library/httpd:2": true, "library/httpd": true, "quay.io/httpd:2": false},
		"docker.io/library/httpd:*":   {"httpd:2": true, "docker.io/httpd": true, "other/httpd:2": false},
		"docker.io/httpd:2":           {"httpd:2": true, "docker.io/library/httpd:2": true, "httpd": false},
		"bitnami/redis:*":             {"bitnami/redis:8": true, "docker.io/bitnami/redis:8": true, "redis:8": false},
		"registry.example.com/shop:*": {"registry.example.com/shop": true, "shop": false},
	} {
		var profiles Profiles
		profiles.Update(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{LabelImage: ""}}, Data: map[string]string{"image": pattern}})
		for image, is := range want {
			if got := profiles.Describes(image); got != is {
				t.Errorf("the profile %s is of %s: %v, want %v", pattern, image, got, is)
			}
		}
	}
}
