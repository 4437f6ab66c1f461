package storageversions

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestEntries edits one StorageVersion step by step, a minute apart.
func TestEntries(t *testing.T) {
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	v := &apiserverinternalv1alpha1.StorageVersion{}
	set := func(server, version string) func(metav1.Time) bool {
		return func(now metav1.Time) bool {
			Set(v, apiserverinternalv1alpha1.ServerStorageVersion{APIServerID: server, EncodingVersion: version}, now)
			return true
		}
	}
	keep := func(servers string) func(metav1.Time) bool {
		return func(now metav1.Time) bool {
			return Keep(v, func(server string) bool { return strings.Contains(servers, server) }, now)
		}
	}
	for minute, step := range []struct {
		name    string
		change  func(now metav1.Time) bool
		changes bool
		want    string
	}{
		{"the first server", set("a", "v1"), true, "a=v1; common v1; True since 0"},
		{"the same again", set("a", "v1"), true, "a=v1; common v1; True since 0"},
		{"another version", set("a", "v2"), true, "a=v2; common v2; True since 2"},
		{"a server that differs", set("b", "v1"), true, "a=v2 b=v1; common none; False since 3"},
		{"a third one", set("c", "v1"), true, "a=v2 b=v1 c=v1; common none; False since 3"},
		{"all stay", keep("abc"), false, "a=v2 b=v1 c=v1; common none; False since 3"},
		{"one leaves", keep("bc"), true, "b=v1 c=v1; common v1; True since 6"},
		{"another leaves", keep("c"), true, "c=v1; common v1; True since 6"},
		{"the last one leaves", keep(""), true, "; common none; False since 8"},
		{"nothing to remove", keep(""), false, "; common none; False since 8"},
	} {
		t.Run(step.name, func(t *testing.T) {
			before := v.DeepCopy()
			shared := v.Status // as a cache has it
			if got := step.change(metav1.NewTime(noon.Add(time.Duration(minute) * time.Minute))); got != step.changes {
				t.Errorf("it reports %v, want %v", got, step.changes)
			}
			if got := text(v, noon); got != step.want {
				t.Errorf("%s, want %s", got, step.want)
			}
			if got, want := text(&apiserverinternalv1alpha1.StorageVersion{Status: shared}, noon), text(before, noon); got != want {
				t.Errorf("the shared status has changed: %s, want %s", got, want)
			}
		})
	}
}

func text(v *apiserverinternalv1alpha1.StorageVersion, noon time.Time) string {
	var entries []string
	for _, e := range v.Status.StorageVersions {
		entries = append(entries, e.APIServerID+"="+e.EncodingVersion)
	}
	common := "none"
	if v.Status.CommonEncodingVersion != nil {
		common = *v.Status.CommonEncodingVersion
	}
	conditions := "no condition"
	for _, c := range v.Status.Conditions {
		conditions = fmt.Sprintf("%s since %d", c.Status, int(c.LastTransitionTime.Sub(noon).Minutes()))
	}
	return fmt.Sprintf("%s; common %s; %s", strings.Join(entries, " "), common, conditions)
}
