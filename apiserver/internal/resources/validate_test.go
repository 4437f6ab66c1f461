package resources

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// decode decodes YAML into an object of the row and completes it as a create does.
func decode(t *testing.T, row *Resource, text string) runtime.Object {
	t.Helper()
	obj := row.New()
	if err := yaml.UnmarshalStrict([]byte(text), obj); err != nil {
		t.Fatalf("decoding %s: %v", row.Kind, err)
	}
	if row.Strategy.Default != nil {
		row.Strategy.Default(obj)
	}
	return obj
}

func prepared(row *Resource, obj runtime.Object) runtime.Object {
	if row.Strategy.Generation {
		obj.(metav1.Object).SetGeneration(1)
	}
	if row.Strategy.PrepareCreate != nil {
		row.Strategy.PrepareCreate(obj)
	}
	return obj
}

func validated(row *Resource, obj runtime.Object) field.ErrorList {
	if row.Strategy.Validate == nil {
		return nil
	}
	return row.Strategy.Validate(obj)
}

func texts(errs field.ErrorList) []string {
	all := []string{}
	for _, err := range errs {
		// The lines after the first are a diff, whose format is not stable.
		first, _, _ := strings.Cut(err.Error(), "\n")
		all = append(all, first)
	}
	return all
}

func rowOf(t *testing.T, group, version, kind string) *Resource {
	t.Helper()
	row := BuiltinFor(AllFeatures()).ByKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	if row == nil {
		t.Fatalf("no row for %s/%s %s", group, version, kind)
	}
	return row
}

const goodPodSpec = `{containers: [{name: web, image: nginx}]}`

func TestValidate(t *testing.T) {
	for _, test := range slices.Concat(validateCases, workloadCases, clusterCases, groupCases) {
		group, rest, _ := strings.Cut(test.kind, "/")
		version, kind, _ := strings.Cut(rest, "/")
		t.Run(kind+"/"+test.name, func(t *testing.T) {
			row := rowOf(t, group, version, kind)
			obj := prepared(row, decode(t, row, test.object))
			errs := validated(row, obj)
			if row.Strategy.ValidateCreate != nil {
				errs = append(errs, row.Strategy.ValidateCreate(obj)...)
			}
			// The checks for new objects only come last.
			got := slices.Sorted(slices.Values(texts(errs)))
			want := slices.Sorted(slices.Values(test.want))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateUpdate(t *testing.T) {
	for _, test := range slices.Concat(updateCases, workloadUpdateCases, clusterUpdateCases, groupUpdateCases) {
		group, rest, _ := strings.Cut(test.kind, "/")
		version, kind, _ := strings.Cut(rest, "/")
		t.Run(kind+"/"+test.name, func(t *testing.T) {
			row := rowOf(t, group, version, kind)
			old, obj := prepared(row, decode(t, row, test.old)), decode(t, row, test.object)
			if errs := validated(row, old); len(errs) > 0 {
				t.Fatalf("the old object is invalid: %v", texts(errs))
			}
			if row.Strategy.PrepareUpdate != nil {
				row.Strategy.PrepareUpdate(obj, old)
			}
			errs := validated(row, obj)
			if row.Strategy.ValidateUpdate != nil {
				errs = append(errs, row.Strategy.ValidateUpdate(obj, old)...)
			}
			want := append([]string{}, test.want...)
			if diff := cmp.Diff(want, texts(errs)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
