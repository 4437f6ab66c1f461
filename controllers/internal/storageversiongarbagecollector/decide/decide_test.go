package decide

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSuspects(t *testing.T) {
	known := func(server string) bool { return strings.HasPrefix(server, "apiserver-") }
	for _, test := range []struct{ name, entries, want string }{
		{"no entry", "", ""},
		{"all are known", "apiserver-a apiserver-b", ""},
		{"none is", "gone-1 gone-2", "gone-1 gone-2"},
		{"one is", "gone-1 apiserver-a gone-2", "gone-1 gone-2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(Suspects(version(test.entries), known), " "); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestStorageVersion removes the servers named gone-N. An entry is written as server=version.
func TestStorageVersion(t *testing.T) {
	now := metav1.NewTime(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC))
	gone := map[string]bool{"gone-1": true, "gone-2": true}
	for _, test := range []struct {
		name, entries string
		deletes       bool
		want, common  string
	}{
		{"nothing to do", "a=v1 b=v2", false, "nothing", ""},
		{"no entry", "", false, "nothing", ""},
		{"one of several", "a=v1 gone-1=v2 b=v1", false, "a=v1 b=v1", "v1"},
		{"those that remain differ", "a=v1 gone-1=v1 b=v2", false, "a=v1 b=v2", ""},
		{"the last ones", "gone-1=v1 gone-2=v1", true, "nothing", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := version(test.entries)
			before := v.DeepCopy()
			d := StorageVersion(v, gone, now)
			if diff := cmp.Diff(before, v); diff != "" {
				t.Errorf("the snapshot has changed:\n%s", diff)
			}
			got, common := "nothing", ""
			if d.Status != nil {
				got = text(d.Status)
				if d.Status.CommonEncodingVersion != nil {
					common = *d.Status.CommonEncodingVersion
				}
				if len(d.Status.Conditions) != 1 || !d.Status.Conditions[0].LastTransitionTime.Equal(&now) {
					t.Errorf("conditions %v", d.Status.Conditions)
				}
			}
			if got != test.want || common != test.common || d.Delete != test.deletes {
				t.Errorf("%s, common %q, deletes %v; want %s, %q, %v", got, common, d.Delete, test.want, test.common, test.deletes)
			}
		})
	}
}

func version(entries string) *apiserverinternalv1alpha1.StorageVersion {
	v := &apiserverinternalv1alpha1.StorageVersion{}
	for field := range strings.FieldsSeq(entries) {
		server, encoding, _ := strings.Cut(field, "=")
		v.Status.StorageVersions = append(v.Status.StorageVersions, apiserverinternalv1alpha1.ServerStorageVersion{
			APIServerID: server, EncodingVersion: encoding, DecodableVersions: []string{encoding},
		})
	}
	return v
}

func text(s *apiserverinternalv1alpha1.StorageVersionStatus) string {
	var entries []string
	for _, e := range s.StorageVersions {
		entries = append(entries, e.APIServerID+"="+e.EncodingVersion)
	}
	return strings.Join(entries, " ")
}
