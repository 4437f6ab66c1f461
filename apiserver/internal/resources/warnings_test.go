package resources

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/golden"
)

// TestWarningsGolden creates questionable objects, and expects the warnings that
// upstream's apiserver sent for the same requests.
func TestWarningsGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/warnings/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var kind metav1.TypeMeta
			if err := yaml.Unmarshal(data, &kind); err != nil {
				t.Fatal(err)
			}
			gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
			row := rowOf(t, gvk.Group, gvk.Version, gvk.Kind)
			obj := row.New()
			if err := yaml.UnmarshalStrict(data, obj); err != nil {
				t.Fatal(err)
			}
			if row.Strategy.Default != nil {
				row.Strategy.Default(obj)
			}
			golden.Compare(t, strings.TrimSuffix(file, ".yaml")+".txt", []byte(strings.Join(row.Strategy.Warnings(obj, nil), "\n")+"\n"))
		})
	}
}
