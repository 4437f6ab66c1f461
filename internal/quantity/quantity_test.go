package quantity

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, valid := range map[string]bool{
		"250m": true, "1Gi": true, "1E": true, "1Ei": true, "-1e3": true, "1e30": true, "1E-30": true, "0.1": true, "9223372036854775807Ei": true,
		"": false, "much": false, "1e": false, "1e31": false, "1e-99999999": false, "1E+99999999999999999999": false, strings.Repeat("1", 65): false,
	} {
		got, err := Parse(text)
		if (err == nil) != valid {
			t.Errorf("%q: %v", text, err)
		}
		if !valid {
			continue
		}
		if want := resource.MustParse(text); got.Cmp(want) != 0 {
			t.Errorf("%q is %s, want %s", text, &got, &want)
		}
	}
}

// FuzzParse compares with resource.ParseQuantity what is short enough for it.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"250m", "1e3", "1E-3", "-.5Ki", "1e-99999999", "0e0e0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(text)
		if err != nil {
			return
		}
		want, err := resource.ParseQuantity(text)
		if err != nil || got.Cmp(want) != 0 {
			t.Errorf("%q is %s, want %s (%v)", text, &got, &want, err)
		}
	})
}
