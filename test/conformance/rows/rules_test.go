package rows

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const (
	rulesFile  = "../../../apiserver/internal/resources/testdata/writerules.upstream"
	labelsFile = "../../../apiserver/internal/resources/testdata/fieldlabels.upstream"
)

// TestWriteRules compares a recording of what the strategies do to fields that a client may send but not change with
// the strategies. minikcm's tests compare its rows with the recording.
func TestWriteRules(t *testing.T) {
	manifests := map[schema.GroupVersionKind]map[string]any{}
	for _, glob := range []string{*corpus, *statuses} { // a manifest with a status takes precedence
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			t.Fatalf("no corpus: %v", err)
		}
		for _, file := range files {
			manifest := manifestOf(t, file)
			manifests[kindOf(manifest)] = manifest
		}
	}
	var lines []string
	for kind, manifest := range manifests {
		if _, err := read(kind, encoded(manifest)); errors.Is(err, errUnreadable) {
			continue // another version of a kind that is recorded
		}
		name := kind.GroupVersion().String() + " " + kind.Kind
		if upstream := strategies()[kind.GroupKind()]; upstream != nil {
			for _, rule := range append(createRules(t, upstream, kind, manifest), updateRules(t, upstream, kind, manifest)...) {
				lines = append(lines, name+" "+rule)
			}
		}
		if upstream := statusStrategies()[kind.GroupKind()]; upstream != nil {
			obj := internalOf(t, kind, manifest)
			for _, rule := range statusRules(t, upstream, kind, obj) {
				lines = append(lines, name+" "+rule)
			}
		}
	}
	for kind, status := range foreignStatusStrategies() {
		for _, rule := range statusRules(t, status.strategy, kind, status.object) {
			lines = append(lines, kind.GroupVersion().String()+" "+kind.Kind+" "+rule)
		}
	}
	slices.Sort(lines)
	settle(t, rulesFile, "# what upstream's strategies do to fields that a client may send but not change\n"+strings.Join(lines, "\n")+"\n")
}

func internalOf(t *testing.T, kind schema.GroupVersionKind, manifest map[string]any) runtime.Object {
	t.Helper()
	obj, err := read(kind, encoded(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// statusOf returns the status of an object, or nil.
func statusOf(obj runtime.Object) any {
	status := reflect.ValueOf(obj).Elem().FieldByName("Status")
	if !status.IsValid() || status.IsZero() {
		return nil
	}
	return status.Interface()
}

func accessor(t *testing.T, obj runtime.Object) metav1.Object {
	t.Helper()
	m, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// createRules returns what a create does to the generation and the status that are sent.
func createRules(t *testing.T, upstream rest.RESTCreateStrategy, kind schema.GroupVersionKind, manifest map[string]any) []string {
	t.Helper()
	obj := internalOf(t, kind, manifest)
	m := accessor(t, obj)
	m.SetGeneration(7)
	sent := statusOf(obj)
	upstream.PrepareForCreate(requestOf("create", kind, pluralOf(kind), "", m), obj)
	rules := []string{fmt.Sprintf("create: generation 7 becomes %d", m.GetGeneration())}
	if sent != nil {
		rules = append(rules, fmt.Sprintf("create: status kept %t", reflect.DeepEqual(sent, statusOf(obj))))
	}
	return rules
}

// updateRules returns what an update does to the generation if the labels or annotations change, and to a status.
func updateRules(t *testing.T, upstream rest.RESTUpdateStrategy, kind schema.GroupVersionKind, manifest map[string]any) []string {
	t.Helper()
	var rules []string
	for _, change := range []string{"labels", "annotations"} {
		obj := internalOf(t, kind, manifest)
		stored(t, obj)
		old := obj.DeepCopyObject()
		m := accessor(t, obj)
		if change == "labels" {
			m.SetLabels(map[string]string{"changed": "yes"})
		} else {
			m.SetAnnotations(map[string]string{"changed": "yes"})
		}
		before := m.GetGeneration()
		prepareUpdate(t, upstream, kind, obj, old)
		rules = append(rules, fmt.Sprintf("update of %s: generation +%d", change, m.GetGeneration()-before))
	}
	if with := internalOf(t, kind, manifest); statusOf(with) != nil {
		stored(t, with)
		without := with.DeepCopyObject()
		reflect.ValueOf(without).Elem().FieldByName("Status").SetZero()
		prepareUpdate(t, upstream, kind, without, with.DeepCopyObject())
		rules = append(rules, fmt.Sprintf("update: status kept %t", reflect.DeepEqual(statusOf(with), statusOf(without))))
	}
	return append(rules, "update: resets "+resets(upstream, kind))
}

func prepareUpdate(t *testing.T, upstream rest.RESTUpdateStrategy, kind schema.GroupVersionKind, obj, old runtime.Object) {
	t.Helper()
	defer func() {
		if reason := recover(); reason != nil {
			t.Logf("%s: upstream panics: %v", kind, reason)
		}
	}()
	upstream.PrepareForUpdate(requestOf("update", kind, pluralOf(kind), "", accessor(t, obj)), obj, old)
}

// statusRules returns the metadata that an update of the status does not change.
func statusRules(t *testing.T, upstream rest.RESTUpdateStrategy, kind schema.GroupVersionKind, obj runtime.Object) []string {
	t.Helper()
	old, changed := obj.DeepCopyObject(), obj.DeepCopyObject()
	for i, o := range []runtime.Object{old, changed} {
		m, value := accessor(t, o), fmt.Sprintf("v%d", i)
		m.SetLabels(map[string]string{"l": value})
		m.SetAnnotations(map[string]string{"a": value})
		m.SetFinalizers([]string{"example.com/" + value})
		m.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: value, UID: "1"}})
	}
	was, now := accessor(t, old), accessor(t, changed)
	upstream.PrepareForUpdate(requestOf("update", kind, pluralOf(kind), "status", now), changed, old.DeepCopyObject())
	var keeps []string
	for _, field := range []struct {
		name      string
		was, then any
	}{
		{"annotations", was.GetAnnotations(), now.GetAnnotations()},
		{"finalizers", was.GetFinalizers(), now.GetFinalizers()},
		{"labels", was.GetLabels(), now.GetLabels()},
		{"ownerReferences", was.GetOwnerReferences(), now.GetOwnerReferences()},
	} {
		if reflect.DeepEqual(field.was, field.then) {
			keeps = append(keeps, field.name)
		}
	}
	return []string{"status: keeps " + strings.Join(keeps, ","), "status: resets " + resets(upstream, kind)}
}

// resets returns the fields whose ownership is not tracked.
func resets(upstream rest.RESTUpdateStrategy, kind schema.GroupVersionKind) string {
	resetting, ok := upstream.(rest.ResetFieldsStrategy)
	if !ok {
		return ""
	}
	var paths []string
	if set := resetting.GetResetFields()[fieldpath.APIVersion(kind.GroupVersion().String())]; set != nil {
		set.Iterate(func(p fieldpath.Path) { paths = append(paths, strings.TrimPrefix(p.String(), ".")) })
	}
	slices.Sort(paths)
	return strings.Join(paths, ",")
}

// TestFieldLabels compares a recording of the field labels that selectors may use with upstream's conversions.
func TestFieldLabels(t *testing.T) {
	var lines []string
	for kind := range legacyscheme.Scheme.AllKnownTypes() {
		if kind.Version == runtime.APIVersionInternal || strategies()[kind.GroupKind()] == nil {
			continue
		}
		_, _, err := legacyscheme.Scheme.ConvertFieldLabel(kind, "nosuch", "")
		accepted := map[string]bool{}
		for _, path := range pathsOf(legacyscheme.Scheme.AllKnownTypes()[kind]) {
			if label, _, err := legacyscheme.Scheme.ConvertFieldLabel(kind, path, ""); err == nil && label == path {
				accepted[path] = true
			} else if err == nil {
				accepted[path+"="+label] = true
			}
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s; otherwise %v", kind.GroupVersion(), kind.Kind, strings.Join(slices.Sorted(maps.Keys(accepted)), " "), err))
	}
	slices.Sort(lines)
	settle(t, labelsFile, "# the field labels that upstream's selectors know, and its error for others\n"+strings.Join(lines, "\n")+"\n")
}

// pathsOf returns the paths of all fields of a type, but for those in lists, and labels that are no paths.
func pathsOf(of reflect.Type) []string {
	paths := []string{"spec.host", "status.successful"}
	var walk func(of reflect.Type, prefix string, depth int)
	walk = func(of reflect.Type, prefix string, depth int) {
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || depth > 4 {
			return
		}
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			path := prefix
			if name != "" && name != "-" {
				path = strings.TrimPrefix(prefix+"."+name, ".")
				paths = append(paths, path)
			}
			walk(of.Field(i).Type, path, depth+1)
		}
	}
	walk(of, "", 0)
	return paths
}
