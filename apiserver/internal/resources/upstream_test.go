package resources

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// TestUpstreamAnswers damages each manifest that has an .upstream file as that file
// says, and expects the errors of upstream's registries: the same fields, rejected for
// the same reasons. test/conformance/rows writes the files. Intended differences are in
// testdata/differs.txt.
func TestUpstreamAnswers(t *testing.T) {
	differs := listed(t, "testdata/differs.txt")
	files, err := filepath.Glob("testdata/*/*.upstream")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	met := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".upstream")
		t.Run(name, func(t *testing.T) {
			for _, difference := range differences(t, file) {
				line := name + " " + difference
				if differs[line] {
					met[line] = true
					continue
				}
				t.Error(line)
			}
		})
	}
	if t.Failed() {
		return
	}
	for line := range differs {
		if !met[line] {
			t.Errorf("testdata/differs.txt: no difference any more: %s", line)
		}
	}
}

// listed returns the lines of a file, except comments.
func listed(t *testing.T, file string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines[line] = true
		}
	}
	return lines
}

// differences compares every answer of a recording with ours.
func differences(t *testing.T, file string) []string {
	t.Helper()
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(strings.TrimSuffix(file, ".upstream") + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	clean, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		t.Fatal(err)
	}
	asked := newAsked(t, clean)
	var section string
	var all []string
	for line := range strings.Lines(string(recorded)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "# "); ok {
			section = name
			continue
		}
		damage, answer, _ := strings.Cut(line, " -> ")
		cut := strings.LastIndexByte(damage, ' ')
		for how := range strings.SplitSeq(damage[cut+1:], ",") {
			if ours := asked.answer(section, damage[:cut], how); ours != answer {
				all = append(all, fmt.Sprintf("%s %s %s: %s, upstream %s", section, damage[:cut], how, ours, answer))
			}
		}
	}
	return all
}

// asked makes requests with one manifest and damaged versions of it.
type asked struct {
	t     *testing.T
	row   *Resource
	clean []byte
	// existing is the object created from the clean manifest, sent the object as it was
	// sent.
	existing, sent runtime.Object
}

func newAsked(t *testing.T, clean []byte) *asked {
	t.Helper()
	var kind metav1.TypeMeta
	if err := json.Unmarshal(clean, &kind); err != nil {
		t.Fatal(err)
	}
	gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
	a := &asked{t: t, row: rowOf(t, gvk.Group, gvk.Version, gvk.Kind), clean: clean}
	a.sent = a.read(clean)
	a.existing = asStored(asNew(a.row, a.sent.DeepCopyObject()))
	return a
}

func (a *asked) read(data []byte) runtime.Object {
	a.t.Helper()
	obj := a.row.New()
	if err := json.Unmarshal(data, obj); err != nil {
		a.t.Fatal(err)
	}
	if a.row.Strategy.Default != nil {
		a.row.Strategy.Default(obj)
	}
	if m := obj.(metav1.Object); a.row.Namespaced && m.GetNamespace() == "" {
		m.SetNamespace(metav1.NamespaceDefault)
	}
	return obj
}

// answer returns our answer to one request with a damaged manifest.
func (a *asked) answer(section, pointer, how string) string {
	a.t.Helper()
	obj, before := a.sent.DeepCopyObject(), a.sent
	switch how {
	case "same":
	case "added":
		before = a.read(spoil(a.t, a.clean, pointer, "removed"))
	default:
		obj = a.read(spoil(a.t, a.clean, pointer, how))
	}
	switch section {
	case "create":
		return causesOf(createErrors(a.row, asNew(a.row, obj)))
	case "update":
		old := a.existing
		if how == "added" {
			old = asStored(asNew(a.row, before))
		}
		return causesOf(updateErrors(a.row, obj, old.DeepCopyObject()))
	}
	return causesOf(statusErrors(a.row, obj, asStored(before.DeepCopyObject())))
}

// asNew prepares a new object as the generic code does.
func asNew(row *Resource, obj runtime.Object) runtime.Object {
	m := obj.(metav1.Object)
	m.SetGeneration(0)
	m.SetUID("22222222-2222-3333-4444-555555555555")
	if m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(m.GetGenerateName() + "abcde")
	}
	if status := reflect.ValueOf(obj).Elem().FieldByName("Status"); row.Subresource("status") != nil && !row.Strategy.KeepStatusOnCreate && status.IsValid() {
		status.SetZero()
	}
	return prepared(row, obj)
}

func asStored(obj runtime.Object) runtime.Object {
	m := obj.(metav1.Object)
	m.SetUID("11111111-2222-3333-4444-555555555555")
	m.SetResourceVersion("7")
	m.SetGeneration(max(1, m.GetGeneration()))
	return obj
}

func createErrors(row *Resource, obj runtime.Object) field.ErrorList {
	errs := metadataErrors(row, obj)
	errs = append(errs, validated(row, obj)...)
	if row.Strategy.ValidateCreate != nil {
		errs = append(errs, row.Strategy.ValidateCreate(obj)...)
	}
	return errs
}

func metadataErrors(row *Resource, obj runtime.Object) field.ErrorList {
	check := row.Strategy.NameCheck
	if check == nil {
		check = apivalidation.NameIsDNSSubdomain
	}
	return apivalidation.ValidateObjectMetaAccessor(obj.(metav1.Object), row.Namespaced, check, field.NewPath("metadata"))
}

func updateErrors(row *Resource, obj, old runtime.Object) field.ErrorList {
	becomes(obj, old)
	if row.Subresource("status") != nil {
		copyFieldOf(obj, old, "Status")
	}
	if row.Strategy.PrepareUpdate != nil {
		row.Strategy.PrepareUpdate(obj, old)
	}
	errs := metadataErrors(row, obj)
	errs = append(errs, validated(row, obj)...)
	if row.Strategy.ValidateUpdate != nil {
		errs = append(errs, row.Strategy.ValidateUpdate(obj, old)...)
	}
	return errs
}

func statusErrors(row *Resource, obj, old runtime.Object) field.ErrorList {
	becomes(obj, old)
	if row.Strategy.PrepareStatusUpdate != nil {
		row.Strategy.PrepareStatusUpdate(obj, old)
	}
	if row.Strategy.ValidateStatusUpdate == nil {
		return nil
	}
	return row.Strategy.ValidateStatusUpdate(obj, old)
}

// becomes sets the metadata that only the server writes.
func becomes(obj, old runtime.Object) {
	m, was := obj.(metav1.Object), old.(metav1.Object)
	m.SetUID(was.GetUID())
	m.SetResourceVersion(was.GetResourceVersion())
	m.SetGeneration(was.GetGeneration())
	m.SetCreationTimestamp(was.GetCreationTimestamp())
}

func copyFieldOf(obj, old runtime.Object, name string) {
	to, from := reflect.ValueOf(obj).Elem().FieldByName(name), reflect.ValueOf(old).Elem().FieldByName(name)
	if to.IsValid() {
		to.Set(from)
	}
}

// causesOf returns the invalid fields with their errors, each once, in order.
func causesOf(errs field.ErrorList) string {
	var all []string
	for _, err := range errs {
		all = append(all, string(metav1.CauseType(err.Type))+" "+err.Field)
	}
	slices.Sort(all)
	if len(all) == 0 {
		return "ok"
	}
	return strings.Join(slices.Compact(all), "; ")
}

// spoil changes a manifest at a JSON pointer.
func spoil(t *testing.T, clean []byte, pointer, how string) []byte {
	t.Helper()
	if how == "same" || how == "added" {
		return clean
	}
	var root any
	if err := json.Unmarshal(clean, &root); err != nil {
		t.Fatal(err)
	}
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[i])
	}
	data, err := json.Marshal(changedAt(root, steps, how))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func changedAt(at any, steps []string, how string) any {
	if len(steps) == 0 {
		return changedValue(at, how)
	}
	switch v := at.(type) {
	case map[string]any:
		if len(steps) == 1 && how == "removed" {
			delete(v, steps[0])
			return v
		}
		v[steps[0]] = changedAt(v[steps[0]], steps[1:], how)
	case []any:
		i, err := strconv.Atoi(steps[0])
		if err != nil {
			panic(err)
		}
		if len(steps) == 1 && how == "removed" {
			return slices.Delete(v, i, i+1)
		}
		v[i] = changedAt(v[i], steps[1:], how)
	}
	return at
}

func changedValue(value any, how string) any {
	switch how {
	case "empty":
		return ""
	case "odd":
		return "-not Valid_"
	case "long":
		return strings.Repeat("a", 300)
	case "upper":
		return strings.ToUpper(value.(string)) + "X"
	case "negative":
		return -1
	case "zero":
		return 0
	case "huge":
		return 1 << 30
	case "flipped":
		return !value.(bool)
	case "doubled":
		return append(slices.Clone(value.([]any)), value.([]any)[0])
	case "emptied":
		if _, ok := value.([]any); ok {
			return []any{}
		}
		return map[string]any{}
	}
	panic("no such damage: " + how)
}
