package resources

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/golden"
)

// TestCreateGolden applies defaults and preparation to each testdata/create/*.yaml, as
// a create does, and compares with the .golden file of that name.
func TestCreateGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/create/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			golden.Compare(t, strings.TrimSuffix(file, ".yaml")+".golden", createdFrom(t, file))
		})
	}
}

func createdFrom(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	obj, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	row := rowOf(t, gvk.Group, gvk.Version, gvk.Kind)
	if row.Strategy.Default != nil {
		row.Strategy.Default(obj)
		once := obj.DeepCopyObject()
		row.Strategy.Default(obj)
		if diff := cmp.Diff(once, obj); diff != "" {
			t.Errorf("defaults are not stable (-once +twice):\n%s", diff)
		}
	}
	prepared(row, obj)
	if errs := validated(row, obj); len(errs) > 0 {
		t.Errorf("invalid: %v", texts(errs))
	}
	out, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
