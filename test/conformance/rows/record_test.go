package rows

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"sigs.k8s.io/yaml"
)

// TestRecordings compares the recordings beside the manifests with upstream's answers.
// minikcm's own tests check its tables against the recordings without upstream. With -update
// the recordings are rewritten.
func TestRecordings(t *testing.T) {
	for _, part := range []struct {
		glob   string
		record func(t *testing.T, manifest map[string]any) *recording
	}{{*corpus, recordWrites}, {*statuses, recordStatus}} {
		files, err := filepath.Glob(part.glob)
		if err != nil || len(files) == 0 {
			t.Fatalf("no corpus: %v", err)
		}
		for _, file := range files {
			record := part.record(t, manifestOf(t, file))
			name := strings.TrimSuffix(file, ".yaml") + ".upstream"
			if record == nil {
				t.Logf("%s: upstream has no such kind", file)
				continue
			}
			settle(t, name, record.text())
		}
	}
}

// settle compares a file with its expected text or, with -update, writes it.
func settle(t *testing.T, name, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
	} else if string(data) != text {
		t.Errorf("%s differs from upstream: -update rewrites it", name)
	}
}

// TestDefaults prints (with -v) where the objects that minikcm creates from the manifests
// differ from upstream's. The remaining differences are behind feature gates, or set by steps
// before or after the strategy.
func TestDefaults(t *testing.T) {
	files, err := filepath.Glob(*corpus)
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			manifest := manifestOf(t, file)
			kind := kindOf(manifest)
			upstream := strategies()[kind.GroupKind()]
			if upstream == nil {
				t.Skip("upstream has no such kind")
			}
			obj, err := created(upstream, kind, encoded(manifest), pluralOf(kind))
			if err != nil {
				t.Skip(err)
			}
			versioned, err := legacyscheme.Scheme.ConvertToVersion(obj, kind.GroupVersion())
			if err != nil {
				t.Fatal(err)
			}
			var theirs, ours map[string]any
			if err := json.Unmarshal(encoded(versioned), &theirs); err != nil {
				t.Fatal(err)
			}
			ours = manifestOf(t, strings.TrimSuffix(file, ".yaml")+".golden")
			for _, line := range leaves(theirs) {
				if !slices.Contains(leaves(ours), line) {
					t.Log("only upstream: " + line)
				}
			}
			for _, line := range leaves(ours) {
				if !slices.Contains(leaves(theirs), line) {
					t.Log("only minikcm: " + line)
				}
			}
		})
	}
}

// leaves returns the scalar values of an object with their paths, except for values that differ for
// each creation.
func leaves(obj map[string]any) []string {
	var all []string
	walk(obj, nil, func(path []any, value any) {
		switch at := dotted(path); at {
		case "apiVersion", "kind", "metadata.uid", "metadata.creationTimestamp", "metadata.name", "metadata.namespace", "metadata.generation",
			"status.lastPhaseTransitionTime", "status.conditions[0].lastTransitionTime", "spec.username", "spec.groups[0]":
		default:
			if strings.HasSuffix(at, "controller-uid") {
				return
			}
			switch value.(type) {
			case map[string]any, []any, nil:
			default:
				all = append(all, fmt.Sprintf("%s: %v", at, value))
			}
		}
	})
	return all
}

// recording holds upstream's answers to the invalid variants of one manifest, by the kind of
// request.
type recording struct {
	sections []string
	answers  map[string]map[string][]string
}

func (r *recording) section(name string) {
	if r.answers == nil {
		r.answers = map[string]map[string][]string{}
	}
	r.sections = append(r.sections, name)
	r.answers[name] = map[string][]string{}
}

// add adds the answer to one variant to the last section.
func (r *recording) add(pointer, how string, named map[string]bool) {
	answer := "ok"
	if len(named) > 0 {
		answer = strings.Join(slices.Sorted(maps.Keys(named)), "; ")
	}
	section := r.answers[r.sections[len(r.sections)-1]]
	section[pointer+"\x00"+answer] = append(section[pointer+"\x00"+answer], how)
}

// text returns one line for the variants of one field with the same answer.
func (r *recording) text() string {
	var b strings.Builder
	for _, name := range r.sections {
		fmt.Fprintf(&b, "# %s\n", name)
		section := r.answers[name]
		for _, key := range slices.Sorted(maps.Keys(section)) {
			pointer, answer, _ := strings.Cut(key, "\x00")
			fmt.Fprintf(&b, "%s %s -> %s\n", pointer, strings.Join(section[key], ","), answer)
		}
	}
	return b.String()
}

// recordWrites records creates and updates. It returns nil if upstream does not have the kind.
func recordWrites(t *testing.T, manifest map[string]any) *recording {
	t.Helper()
	kind := kindOf(manifest)
	upstream := strategies()[kind.GroupKind()]
	if upstream == nil {
		return nil
	}
	r := &recording{}
	r.section("create")
	spoiled := damages(manifest, false)
	for _, d := range append([]damaged{{pointer: "/", how: "same", manifest: manifest}}, spoiled...) {
		status, err := refusal(upstream, kind, encoded(d.manifest), pluralOf(kind))
		if err == nil {
			r.add(d.pointer, d.how, causes(status))
		} else if !errors.Is(err, errUnreadable) {
			t.Fatalf("%s %s: %v", kind, d.what, err)
		}
	}
	old, err := created(upstream, kind, encoded(manifest), pluralOf(kind))
	if err != nil {
		return r
	}
	stored(t, old)
	r.section("update")
	for _, d := range append([]damaged{{pointer: "/", how: "same", manifest: manifest}}, spoiled...) {
		if strings.HasPrefix(d.pointer, "/metadata/name") || d.pointer == "/metadata" {
			continue // the change names another object
		}
		status, err := changed(upstream, kind, encoded(d.manifest), old, pluralOf(kind), "")
		if err == nil {
			r.add(d.pointer, d.how, causes(status))
		} else if !errors.Is(err, errUnreadable) {
			t.Fatalf("%s %s: %v", kind, d.what, err)
		}
		if d.how != "removed" {
			continue
		}
		before, err := created(upstream, kind, encoded(d.manifest), pluralOf(kind))
		if err != nil {
			continue
		}
		stored(t, before)
		if status, err := changed(upstream, kind, encoded(manifest), before, pluralOf(kind), ""); err == nil {
			r.add(d.pointer, "added", causes(status))
		}
	}
	return r
}

// recordStatus records updates of the status.
func recordStatus(t *testing.T, manifest map[string]any) *recording {
	t.Helper()
	kind := kindOf(manifest)
	upstream := statusStrategies()[kind.GroupKind()]
	if upstream == nil {
		return nil
	}
	old, err := read(kind, encoded(manifest))
	if err != nil {
		t.Fatal(err)
	}
	stored(t, old)
	r := &recording{}
	r.section("status")
	for _, d := range append([]damaged{{pointer: "/", how: "same", manifest: manifest}}, damages(manifest, true)...) {
		status, err := changed(upstream, kind, encoded(d.manifest), old, pluralOf(kind), "status")
		if err == nil {
			r.add(d.pointer, d.how, causes(status))
		} else if !errors.Is(err, errUnreadable) {
			t.Fatalf("%s %s: %v", kind, d.what, err)
		}
		if d.how != "removed" {
			continue
		}
		before, err := read(kind, encoded(d.manifest))
		if err != nil {
			continue
		}
		stored(t, before)
		if status, err := changed(upstream, kind, encoded(manifest), before, pluralOf(kind), "status"); err == nil {
			r.add(d.pointer, "added", causes(status))
		}
	}
	return r
}

// stored sets the fields that storage sets.
func stored(t *testing.T, obj runtime.Object) {
	t.Helper()
	m, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	if m.GetNamespace() == "" && statusNamespaced(obj) {
		m.SetNamespace(metav1.NamespaceDefault)
	}
	m.SetUID("11111111-2222-3333-4444-555555555555")
	m.SetResourceVersion("7")
	m.SetGeneration(max(1, m.GetGeneration()))
}

// statusNamespaced reports whether objects of this kind are namespaced.
func statusNamespaced(obj runtime.Object) bool {
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return false
	}
	upstream := strategies()[kinds[0].GroupKind()]
	return upstream != nil && upstream.NamespaceScoped()
}

func kindOf(manifest map[string]any) schema.GroupVersionKind {
	apiVersion, _ := manifest["apiVersion"].(string)
	kind, _ := manifest["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// pluralOf returns the resource of a kind, as accurate as strategies need it.
func pluralOf(kind schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural.Resource
}

func encoded(obj any) []byte {
	data, err := json.Marshal(obj)
	if err != nil {
		panic(err) // it came from JSON
	}
	return data
}

func manifestOf(t *testing.T, file string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var manifest map[string]any
	if err := yaml.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	return manifest
}
