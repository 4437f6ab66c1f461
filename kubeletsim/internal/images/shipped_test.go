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

// The profiles of the built-in catalog can be read, and say that there is more in their images.
func TestBuiltInCatalog(t *testing.T) {
	t.Parallel()
	catalog, err := images.NewCatalog("")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := catalog.Entries()
	if err != nil || len(entries) < 15 {
		t.Fatalf("%d profiles: %v", len(entries), err)
	}
	for _, e := range entries {
		for _, bad := range images.Invalid(&corev1.ConfigMap{Data: e.Data}) {
			t.Errorf("%s: %s", e.Name, bad)
		}
		if e.Data["content"] != "unknown" {
			t.Errorf("%s: content %q", e.Name, e.Data["content"])
		}
	}
}
