package resources

import (
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestEveryKindHasManifest requires for each row that stores objects a manifest in
// testdata/create, whose golden file shows the created object, and for each row with a
// status one in testdata/status.
func TestEveryKindHasManifest(t *testing.T) {
	created, withStatus := kindsIn(t, "testdata/create/*.yaml"), kindsIn(t, "testdata/status/*.yaml")
	for _, row := range BuiltinFor(AllFeatures()).All() {
		if !row.IsStored() {
			continue
		}
		kind := row.GroupVersion().String() + " " + row.Kind
		if !created[kind] {
			t.Errorf("%s has no manifest in testdata/create", kind)
		}
		if row.Subresource("status") != nil && row.Storage == nil && !withStatus[kind] {
			t.Errorf("%s has no manifest in testdata/status", kind)
		}
	}
}

func kindsIn(t *testing.T, glob string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	kinds := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(data, &kind); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		kinds[kind.APIVersion+" "+kind.Kind] = true
	}
	return kinds
}
