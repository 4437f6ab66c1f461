package images_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/kubeletsim/internal/images"
)

// The profiles of the conformance suite's images can be read.
func TestConformanceProfiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../test/conformance/images/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(data), "\n---\n") {
			var profile corev1.ConfigMap
			if err := yaml.UnmarshalStrict([]byte(document), &profile); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			for _, bad := range images.Invalid(&profile) {
				t.Errorf("%s: %s: %s", file, profile.Name, bad)
			}
		}
	}
}
