package manager

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	known := map[string]bool{}
	for _, d := range Descriptors() {
		if d.New == nil {
			t.Errorf("%s has no constructor", d.Name)
		}
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			if known[name] {
				t.Errorf("the name %q is taken twice", name)
			}
			known[name] = true
			if name == "" || strings.ContainsAny(name, "*, ") || strings.HasPrefix(name, "-") {
				t.Errorf("%q cannot be written in a selection", name)
			}
		}
	}
}

func TestParseSelection(t *testing.T) {
	all := Names()
	for name, tt := range map[string]struct {
		text string
		want []string
		err  string
	}{
		"default":        {"", all, ""},
		"star":           {"*", all, ""},
		"one":            {"replicaset-controller", []string{"replicaset-controller"}, ""},
		"alias":          {"replicaset", []string{"replicaset-controller"}, ""},
		"all but one":    {"*,-namespace-controller", slices.DeleteFunc(Names(), func(n string) bool { return n == "namespace-controller" }), ""},
		"name then star": {"-namespace, *", slices.DeleteFunc(Names(), func(n string) bool { return n == "namespace-controller" }), ""},
		"only excluded":  {"-namespace", []string{}, ""},
		"unknown":        {"*,-nmespace", nil, `"nmespace" is not a controller; the controllers are `},
		"both":           {"namespace,-namespace-controller", nil, "both selected and excluded"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseSelection(tt.text)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("ParseSelection() error = %v, want %q in it", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ParseSelection() (-want +got):\n%s", diff)
			}
		})
	}
}
