package images

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/servers"
)

// The catalog knows a name with a slash in any registry; one without may be another image elsewhere.
func TestRegistriesOfTheCatalog(t *testing.T) {
	t.Parallel()
	c, err := NewCatalog("")
	if err != nil {
		t.Fatal(err)
	}
	var profiles Profiles
	profiles.UseCatalog(c)
	for image, known := range map[string]bool{
		"nginx": true, "nginx:1.27": true, "library/nginx": true, "mirror.example/library/nginx:1.27": true, "registry.example/nginx:1.27": false,
		"registry.example/google-samples/hello-app:1.0": true, "registry.example/team/google-samples/hello-app:1.0": false, "hello-app:1.0": false, "registry.example:5000/traefik/whoami@sha256:0": true,
	} {
		if got := c.of(image) != nil; got != known {
			t.Errorf("%s: known is %v, want %v", image, got, known)
		}
		pod := profiles.Annotate(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}})
		if _, got := pod.Annotations[servers.Annotation+".c"]; got != known {
			t.Errorf("%s: it has answers: %v, want %v", image, got, known)
		}
	}
}
