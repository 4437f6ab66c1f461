package resources

import (
	"net/url"
	"testing"
)

// TestIsTrue reads booleans of URLs as upstream's conversion of options does.
func TestIsTrue(t *testing.T) {
	for query, want := range map[string]bool{
		"": false, "a": true, "a=": true, "a=1": true, "a=true": true, "a=True": true, "a=TRUE": true, "a=yes": true, "a=no": true,
		"a=0": false, "a=false": false, "a=False": false, "a=FALSE": false, "a=0&a=1": false, "a=1&a=0": true,
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if got := IsTrue(values, "a"); got != want {
			t.Errorf("%q: %t", query, got)
		}
	}
}
