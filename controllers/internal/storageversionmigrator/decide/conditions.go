package decide

import (
	"fmt"
	"time"

	migrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Progress is how many objects of a resource there are, and how many have not been written yet.
type Progress struct{ Left, Total int }

// Running returns the migration with the condition Running. err is an error after which the
// migration is tried again; nil: there is none.
func Running(m *migrationv1.StorageVersionMigration, p Progress, err error, now time.Time) *migrationv1.StorageVersionMigration {
	message := "The migration is running"
	switch {
	case p.Left > 0:
		message += fmt.Sprintf(", %d/%d objects not yet migrated", p.Left, p.Total)
	case p.Total > 0:
		message += fmt.Sprintf(", %d objects verified migrated", p.Total)
	}
	if err != nil {
		message += fmt.Sprintf("; transient error: %s", err)
	}
	return with(m, migrationv1.MigrationRunning, metav1.ConditionTrue, "MigrationRunning", message, now)
}

// Completed returns the migration with the condition Succeeded, after all objects were written.
func Completed(m *migrationv1.StorageVersionMigration, p Progress, now time.Time) *migrationv1.StorageVersionMigration {
	m = Running(m, p, nil, now)
	return with(m, migrationv1.MigrationSucceeded, metav1.ConditionTrue, "StorageVersionMigrationSucceeded", "Migration completed", now)
}

// Failed returns the migration with the condition Failed.
func Failed(m *migrationv1.StorageVersionMigration, message string, now time.Time) *migrationv1.StorageVersionMigration {
	return with(m, migrationv1.MigrationFailed, metav1.ConditionTrue, "StorageVersionMigrationFailed", message, now)
}

// Stopped returns a migration that has ended with the condition Running set to false.
func Stopped(m *migrationv1.StorageVersionMigration, now time.Time) *migrationv1.StorageVersionMigration {
	m = with(m, migrationv1.MigrationRunning, metav1.ConditionFalse, "MigrationCompleted", "Migration completed", now)
	meta.FindStatusCondition(m.Status.Conditions, string(migrationv1.MigrationRunning)).ObservedGeneration = m.Generation
	return m
}

// with returns a copy of the migration with a condition.
func with(m *migrationv1.StorageVersionMigration, of migrationv1.MigrationConditionType, status metav1.ConditionStatus, reason, message string, now time.Time) *migrationv1.StorageVersionMigration {
	m = m.DeepCopy()
	meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{
		Type: string(of), Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now),
	})
	return m
}
