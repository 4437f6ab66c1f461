package podspec

import (
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
