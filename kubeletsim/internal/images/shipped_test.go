package images_test

import (
	"os"
	"path/filepath"
	"slices"
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

// A profile needs the references of its images.
func TestProfileWithoutImages(t *testing.T) {
	t.Parallel()
	var got []string
	for _, p := range images.Invalid(&corev1.ConfigMap{Data: map[string]string{"imge": "shop"}}) {
		got = append(got, p.String())
	}
	want := []string{"the profile is ignored: it has no key image, with the references of the images that it describes", "imge is ignored: profiles have no such key; did you mean image?"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Values that cannot be read are named with the field of the description, and with the key otherwise.
func TestInvalidProfile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, text, field, why string }{
		{"server", "listen:\n- port: 80\n  routes:\n  - {path: /}\n  - body: '${a}'\n", "listen[0].routes[1].body", "compiling the CEL expression"},
		{"server", "listen:\n- port: 80\n  mode: [1]\n", "listen[0].mode", "it has the wrong type: a list"},
		{"server", "listen:\n- port: 80\n  routes:\n  - run: {script: 'case x in'}\n", "listen[0].routes[0].run.script", "it is no script of a shell: line 1"},
		{"program.shop", "#!/bin/sh\nif true; then\n  echo\n", "", "it is no script of a shell: line 2, column 1: "},
		{"program.shop", "#!/usr/bin/python3\nprint('(')\n", "", ""},
		{"content", "all", "", `"all" is neither known nor unknown`},
		{"user", "nobody", "", `"nobody" is neither a UID nor UID:GID`},
		{"user", "1000:1000", "", ""},
		{"srver", "x", "", "profiles have no such key; did you mean server?"},
		{"notes", "x", "", "profiles have no such key"},
	} {
		bad := images.Invalid(&corev1.ConfigMap{Data: map[string]string{"image": "shop", c.key: c.text}})
		switch {
		case c.why == "" && len(bad) == 0:
		case len(bad) != 1, bad[0].Key != c.key, bad[0].Field != c.field, !strings.HasPrefix(bad[0].Why().Error(), c.why):
			t.Errorf("%s %q: %+v, want %q: %s", c.key, c.text, bad, c.field, c.why)
		}
	}
}
