package resources

import (
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestFieldLabels compares the field labels of selectors with a recording of upstream's conversions, which the module
// test/conformance makes.
func TestFieldLabels(t *testing.T) {
	data, err := os.ReadFile("testdata/fieldlabels.upstream")
	if err != nil {
		t.Fatal(err)
	}
	compared := map[schema.GroupVersionKind]bool{}
	for line := range strings.Lines(string(data)) {
		name, rest, _ := strings.Cut(line, ": ")
		version, kind, _ := strings.Cut(name, " ")
		row := BuiltinFor(AllFeatures()).ByKind(schema.FromAPIVersionAndKind(version, kind))
		if row == nil {
			continue
		}
		compared[row.GroupVersionKind] = true
		known, otherwise, _ := strings.Cut(strings.TrimSpace(rest), "; otherwise ")
		if text := row.NotSelectable("nosuch"); text != otherwise {
			t.Errorf("%s: the error is %q, want %q", name, text, otherwise)
		}
		want := strings.Fields(known)
		got := []string{"metadata.name"}
		if row.Selectable("metadata.namespace") {
			got = append(got, "metadata.namespace")
		}
		for _, label := range row.SelectableFields {
			if row.Storage != nil && row.Storage.FieldLabels[label] != "" {
				label += "=" + row.Storage.FieldLabels[label]
			}
			got = append(got, label)
		}
		for label, of := range row.FieldAliases {
			got = append(got, label+"="+of)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the labels are %v, want %v", name, got, want)
		}
	}
	if len(compared) < 60 {
		t.Errorf("%d kinds were compared", len(compared))
	}
}
