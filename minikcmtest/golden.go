package minikcmtest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// UpdateGolden is the environment variable that makes Golden write files, if its value is true.
const UpdateGolden = "MINIKCM_UPDATE_GOLDEN"

// Golden fails the test unless objects, or the items of lists, equal the objects in a YAML file
// whose path is relative to the test's folder. What differs from run to run is replaced: times by
// <time>, UIDs and generated names by numbered placeholders, which stand for the same value in all
// of the objects. Resource versions and managed fields are left out. With the flag -update, if the
// test's package defines it, or with MINIKCM_UPDATE_GOLDEN=true, Golden writes the file.
func Golden(t testing.TB, path string, objects ...runtime.Object) {
	t.Helper()
	got, err := normalized(objects)
	if err != nil {
		t.Fatalf("comparing with %s: %v", path, err)
	}
	if updates() {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, got, 0o600)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s does not exist: run the test with %s=true to create it", path, UpdateGolden)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (%s=true rewrites it) (-want +got):\n%s", path, UpdateGolden, diff)
	}
}

// updates reports whether the files are to be written. The flag belongs to the test's package:
// defining it here, too, would end its program.
func updates() bool {
	texts := []string{os.Getenv(UpdateGolden)}
	if f := flag.Lookup("update"); f != nil {
		texts = append(texts, f.Value.String())
	}
	for _, text := range texts {
		if update, err := strconv.ParseBool(text); err == nil && update {
			return true
		}
	}
	return false
}

// normalized returns the YAML documents of objects with placeholders.
func normalized(objects []runtime.Object) ([]byte, error) {
	all, err := unstructuredOf(objects)
	if err != nil {
		return nil, err
	}
	p := &placeholders{}
	for _, o := range all {
		unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
		unstructured.RemoveNestedField(o.Object, "metadata", "resourceVersion")
		p.generatedName(o)
	}
	var out bytes.Buffer
	for i, o := range all {
		document, err := yaml.Marshal(p.in(o.Object))
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(document)
	}
	return out.Bytes(), nil
}

func unstructuredOf(objects []runtime.Object) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, object := range objects {
		if meta.IsListType(object) {
			items, err := meta.ExtractList(object)
			if err != nil {
				return nil, err
			}
			inner, err := unstructuredOf(items)
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
			continue
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object.DeepCopyObject())
		if err != nil {
			return nil, err
		}
		o := &unstructured.Unstructured{Object: content}
		// Typed clients return built-in objects without their kind.
		if gvks, _, err := scheme.Scheme.ObjectKinds(object); o.GetKind() == "" && err == nil {
			o.SetGroupVersionKind(gvks[0])
		}
		out = append(out, o)
	}
	return out, nil
}

var (
	uidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	// accessPattern matches the name of the volume that the admission plugin ServiceAccount adds.
	accessPattern = regexp.MustCompile(`\bkube-api-access-[a-z0-9]{5}\b`)
	timePattern   = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
)

// placeholders replaces values that differ from run to run.
type placeholders struct {
	names    []string // pairs of a generated name and its placeholder
	uids     map[string]string
	replacer *strings.Replacer
}

// generatedName adds the name of an object whose name the API server generated.
func (p *placeholders) generatedName(o *unstructured.Unstructured) {
	prefix, name := o.GetGenerateName(), o.GetName()
	if suffix, ok := strings.CutPrefix(name, prefix); !ok || prefix == "" || suffix == "" {
		return
	}
	p.names = append(p.names, name, prefix+fmt.Sprintf("<%d>", len(p.names)/2+1))
}

// in returns a copy of a value of JSON with placeholders in its strings.
func (p *placeholders) in(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) { // so that numbers do not depend on the map
			out[p.text(key)] = p.in(value[key])
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = p.in(value[i])
		}
		return out
	case string:
		return p.text(value)
	}
	return value
}

func (p *placeholders) text(text string) string {
	if p.replacer == nil {
		p.replacer, p.uids = strings.NewReplacer(p.names...), map[string]string{}
	}
	text = uidPattern.ReplaceAllStringFunc(p.replacer.Replace(text), func(uid string) string {
		if p.uids[uid] == "" {
			p.uids[uid] = fmt.Sprintf("<uid %d>", len(p.uids)+1)
		}
		return p.uids[uid]
	})
	return timePattern.ReplaceAllString(accessPattern.ReplaceAllString(text, "kube-api-access-<name>"), "<time>")
}
