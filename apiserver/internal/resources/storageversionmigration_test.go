package resources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestStorageVersionMigrationStatus checks that a migration ends once, and that its resource
// version is set once.
func TestStorageVersionMigrationStatus(t *testing.T) {
	with := func(version string, truths ...storagemigrationv1.MigrationConditionType) *storagemigrationv1.StorageVersionMigration {
		m := &storagemigrationv1.StorageVersionMigration{Status: storagemigrationv1.StorageVersionMigrationStatus{ResourceVersion: version}}
		for _, kind := range truths {
			m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{
				Type: string(kind), Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.NewTime(noon),
			})
		}
		return m
	}
	const succeeded, failed = storagemigrationv1.MigrationSucceeded, storagemigrationv1.MigrationFailed
	strategy := rowOf(t, "storagemigration.k8s.io", "v1", "StorageVersionMigration").Strategy
	for _, test := range []struct {
		name     string
		now, was *storagemigrationv1.StorageVersionMigration
		want     []string
	}{
		{"version set", with("12"), with(""), nil},
		{"ended", with("12", storagemigrationv1.MigrationRunning, succeeded), with("12", storagemigrationv1.MigrationRunning), nil},
		{"no version", with("x"), with(""), []string{"status.resourceVersion"}},
		{"version changed", with("13"), with("12"), []string{"status.resourceVersion"}},
		{"version removed", with(""), with("12"), []string{"status.resourceVersion"}},
		{"both", with("", succeeded, failed), with(""), []string{"status.conditions"}},
		{"condition twice", with("", succeeded, succeeded), with(""), []string{"status.conditions[1]"}},
		{"no longer succeeded", with(""), with("", succeeded), []string{"status.conditions"}},
		{"no longer failed", with("", succeeded), with("", failed), []string{"status.conditions"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, err := range strategy.ValidateStatusUpdate(test.now, test.was) {
				got = append(got, err.Field)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
