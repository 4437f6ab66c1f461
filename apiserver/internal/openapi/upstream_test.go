package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi/openapitest"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// TestAgainstUpstream compares the schemas with an upstream apiserver's schemas, which
// client-go includes for its own tests. They are of an older version, so the test skips what
// was added or reworded since.
func TestAgainstUpstream(t *testing.T) {
	s := &source{table: resources.Builtin(), scheme: scheme.Scheme, version: "v1"}
	paths, err := openapitest.NewEmbeddedFileClient().Paths()
	if err != nil {
		t.Fatal(err)
	}
	for path, gv := range map[string]schema.GroupVersion{
		"api/v1":                   {Version: "v1"},
		"apis/apps/v1":             {Group: "apps", Version: "v1"},
		"apis/discovery.k8s.io/v1": {Group: "discovery.k8s.io", Version: "v1"},
	} {
		t.Run(path, func(t *testing.T) {
			data, err := paths[path].Schema("application/json")
			if err != nil {
				t.Fatal(err)
			}
			var upstream spec3.OpenAPI
			if err := json.Unmarshal(data, &upstream); err != nil {
				t.Fatal(err)
			}
			ours, err := s.v3(gv)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range slices.Sorted(maps.Keys(upstream.Components.Schemas)) {
				if schema := ours.Components.Schemas[name]; schema != nil {
					compareSchemas(t, name, upstream.Components.Schemas[name], schema)
				}
			}
			for path, theirs := range upstream.Paths.Paths {
				if mine := ours.Paths.Paths[path]; mine != nil {
					comparePaths(t, path, theirs, mine)
				} else if !strings.Contains(path, "/watch/") {
					t.Errorf("no path %s", path)
				}
			}
		})
	}
}

// changedSince are the properties that differ from upstream's older files.
var changedSince = map[string]bool{
	"io.k8s.api.core.v1.PersistentVolumeClaimSpec.resources":            true,
	"io.k8s.api.core.v1.PodResourceClaim.source":                        true,
	"io.k8s.api.core.v1.PersistentVolumeClaimStatus.resizeStatus":       true,
	"io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement.key": true,
}

func compareSchemas(t *testing.T, name string, upstream, ours *spec.Schema) {
	t.Helper()
	for property, theirs := range upstream.Properties {
		if changedSince[name+"."+property] {
			continue
		}
		mine, present := ours.Properties[property]
		if !present {
			t.Errorf("%s: no property %s", name, property)
			continue
		}
		addSince(&theirs, &mine)
		if diff := cmp.Diff(essence(t, &theirs), essence(t, &mine)); diff != "" {
			t.Errorf("%s.%s (-upstream +ours):\n%s", name, property, diff)
		}
	}
	for key, want := range upstream.Extensions {
		if diff := cmp.Diff(normal(t, want), normal(t, ours.Extensions[key])); diff != "" && !oldKinds(upstream) {
			t.Errorf("%s: extension %s (-upstream +ours):\n%s", name, key, diff)
		}
	}
}

// addSince adds the extensions that only our schema has to upstream's.
func addSince(theirs, ours *spec.Schema) {
	for key, value := range ours.Extensions {
		if _, present := theirs.Extensions[key]; !present {
			theirs.AddExtension(key, value)
		}
	}
}

// oldKinds reports whether a schema's kinds change with each version.
func oldKinds(s *spec.Schema) bool {
	kinds, _ := s.Extensions[extKind].([]any)
	return len(kinds) > 1
}

// essence returns a schema without its texts, enumerations and defaults, and with
// references as they are without those.
func essence(t *testing.T, s *spec.Schema) any {
	t.Helper()
	return strip(normal(t, s))
}

func normal(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

func strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "description")
		delete(v, "enum")
		delete(v, "default")
		if all, ok := v["allOf"].([]any); ok && len(all) == 1 {
			delete(v, "allOf")
			maps.Copy(v, all[0].(map[string]any))
		}
		for k := range v {
			v[k] = strip(v[k])
		}
	case []any:
		for i := range v {
			v[i] = strip(v[i])
		}
	}
	return v
}

func comparePaths(t *testing.T, path string, upstream, ours *spec3.Path) {
	t.Helper()
	for _, verb := range []struct {
		name         string
		theirs, mine *spec3.Operation
	}{
		{"get", upstream.Get, ours.Get},
		{"put", upstream.Put, ours.Put},
		{"post", upstream.Post, ours.Post},
		{"patch", upstream.Patch, ours.Patch},
		{"delete", upstream.Delete, ours.Delete},
		{"head", upstream.Head, ours.Head},
		{"options", upstream.Options, ours.Options},
	} {
		what := fmt.Sprintf("%s %s", verb.name, path)
		if (verb.theirs == nil) != (verb.mine == nil) {
			t.Errorf("%s: upstream has it: %v; we: %v", what, verb.theirs != nil, verb.mine != nil)
			continue
		}
		if verb.theirs == nil {
			continue
		}
		if verb.theirs.OperationId != verb.mine.OperationId {
			t.Errorf("%s: upstream calls it %s, we %s", what, verb.theirs.OperationId, verb.mine.OperationId)
		}
		if diff := cmp.Diff(normal(t, verb.theirs.Extensions), normal(t, verb.mine.Extensions)); diff != "" {
			t.Errorf("%s: extensions (-upstream +ours):\n%s", what, diff)
		}
		if verb.theirs.Extensions[extAction] == "connect" || strings.HasSuffix(path, "/log") {
			compareTexts(t, what, verb.theirs, verb.mine)
		}
		for _, p := range slices.Concat(upstream.Parameters, verb.theirs.Parameters) {
			if !hasParameter(verb.mine.Parameters, p.Name) && !hasParameter(ours.Parameters, p.Name) {
				t.Errorf("%s: no parameter %s", what, p.Name)
			}
		}
	}
}

// compareTexts compares the media types of plain-text responses.
func compareTexts(t *testing.T, what string, upstream, ours *spec3.Operation) {
	t.Helper()
	theirs, mine := upstream.Responses.StatusCodeResponses[200], ours.Responses.StatusCodeResponses[200]
	for media, content := range theirs.Content {
		if mine == nil || mine.Content[media] == nil {
			t.Errorf("%s: no %s", what, media)
			continue
		}
		if diff := cmp.Diff(normal(t, content), normal(t, mine.Content[media])); diff != "" {
			t.Errorf("%s: %s (-upstream +ours):\n%s", what, media, diff)
		}
	}
}

func hasParameter(all []*spec3.Parameter, name string) bool {
	return slices.ContainsFunc(all, func(p *spec3.Parameter) bool { return p.Name == name })
}
