package podspec

import (
	"fmt"
	"strings"
	"testing"
)

func TestImageName(t *testing.T) {
	digest := "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for image, want := range map[string]string{
		"nginx":                         "nginx:latest",
		"nginx:1.2":                     "nginx:1.2",
		"me/app":                        "me/app:latest",
		"localhost:5000/app":            "localhost:5000/app:latest",
		"registry.example/pause:3.10":   "registry.example/pause:3.10",
		"registry.example/b/c" + digest: "registry.example/b/c" + digest,
	} {
		if got := ImageName(image); got != want {
			t.Errorf("imageName(%q) = %q, want %q", image, got, want)
		}
	}
	if got := ImageID("registry.example/b:1" + digest); got != "registry.example/b"+digest {
		t.Errorf("imageID of a pinned image: %q", got)
	}
	if ImageID("nginx") != ImageID("nginx:latest") || ImageID("nginx") == ImageID("nginx:1") {
		t.Error("imageID does not follow the full name")
	}
}

func TestImageProblem(t *testing.T) {
	digest := strings.Repeat("0123456789abcdef", 4)
	for _, image := range []string{
		"nginx", "nginx:1.2", "localhost:5000/app", "registry.example:5000/a/b_c/d:V1", "a@sha256:" + digest, "a:1@sha512:" + digest + digest, "UPPER.example/a",
	} {
		if problem := ImageProblem(image); problem != "" {
			t.Errorf("%q: %s", image, problem)
		}
	}
	for image, why := range map[string]string{
		"nginx:!bad":       "invalid reference format",
		"nginx:":           "invalid reference format",
		"Nginx":            "invalid reference format: repository name (library/Nginx) must be lowercase",
		"nginx@sha256:123": "invalid reference format",
		"foo/_bar":         "invalid reference format",
		"http://foo/bar":   "invalid reference format",
		"${IMAGE}":         "invalid reference format: repository name (library/${IMAGE}) must be lowercase",
		"shop:<no value>":  "invalid reference format",
		digest:             "invalid repository name (" + digest + "), cannot specify 64-byte hexadecimal strings",
	} {
		want := fmt.Sprintf("Failed to apply default image tag %q: couldn't parse image name %q: %s", image, image, why)
		if got := ImageProblem(image); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
