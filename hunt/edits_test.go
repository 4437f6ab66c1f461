package hunt

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestEdits(t *testing.T) {
	t.Parallel()
	var properties, spec map[string]any
	for text, into := range map[string]*map[string]any{
		`
required: [image, size]
properties:
  image: {type: string, minLength: 1}
  full: {type: integer, minimum: 1, maximum: 4}
  size: {type: integer, minimum: 1}
  least: {type: integer, minimum: 3}
  paused: {type: boolean}
  title: {type: string}
  mode: {enum: [fast, slow]}
  only: {enum: [one]}
  zones: {type: array}
  absent: {type: string}
  defaulted: {type: integer, default: 5}
  backup: {type: object, properties: {every: {type: string, format: duration}, keep: {type: number}}}
`: &properties,
		`{image: nginx, size: 3, full: 4, least: 3, title: home, mode: fast, only: one, zones: [a], defaulted: 5, backup: {every: 1h, keep: 2}}`: &spec,
	} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, e := range editsOf(properties, spec, "spec", 0) {
		got = append(got, fmt.Sprintf("%s=%s", e.path, e.value))
	}
	want := []string{
		"spec.backup.every=null", "spec.backup.keep=0", "spec.backup.keep=null", "spec.backup=null", "spec.defaulted=0", "spec.defaulted=6", "spec.full=1", "spec.full=null", "spec.least=4", "spec.least=null",
		`spec.mode="slow"`, "spec.mode=null", "spec.only=null", "spec.paused=true", "spec.size=1", "spec.size=4", `spec.title=""`, "spec.title=null", "spec.zones=[]", "spec.zones=null",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the edits differ (-want +got):\n%s", diff)
	}
}

func TestMergePatch(t *testing.T) {
	t.Parallel()
	if got, want := string(mergePatch([]string{"spec", "a"}, "[1]")), `{"spec":{"a":[1]}}`; got != want {
		t.Errorf("the patch is %s, want %s", got, want)
	}
}
