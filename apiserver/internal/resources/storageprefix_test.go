package resources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStoragePrefixes lists the rows that upstream stores under another name than the one in their URL.
func TestStoragePrefixes(t *testing.T) {
	got := map[string]string{}
	for _, row := range BuiltinFor(AllFeatures()).All() {
		if row.IsStored() && row.Storage == nil && row.StoragePrefix != row.Plural {
			got[row.GroupResource().String()] = row.StoragePrefix
		}
	}
	want := map[string]string{
		"services":                    "services/specs",
		"endpoints":                   "services/endpoints",
		"nodes":                       "minions",
		"replicationcontrollers":      "controllers",
		"ingresses.networking.k8s.io": "ingress",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
