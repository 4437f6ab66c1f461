package decide

import (
	"cmp"
	"strings"

	migrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Step is the next step of a migration.
type Step int

// The steps, in their order.
const (
	// Nothing: the migration waits for another one, or has ended.
	Nothing Step = iota
	// Begin sets the condition Running.
	Begin
	// Checkpoint records the resource version up to which objects are written.
	Checkpoint
	// Migrate writes the objects.
	Migrate
	// End sets the condition Running to false.
	End
)

// Next returns the next step of a migration. same are all migrations of its resource; the
// migration itself may be among them.
func Next(m *migrationv1.StorageVersionMigration, same []*migrationv1.StorageVersionMigration) Step {
	switch {
	case Ended(m) && running(m):
		return End
	case Ended(m):
		return Nothing
	case running(m) && m.Status.ResourceVersion == "":
		return Checkpoint
	case running(m):
		return Migrate
	}
	for _, other := range same {
		if other.Name != m.Name && !Ended(other) && (running(other) || before(other, m)) {
			return Nothing
		}
	}
	return Begin
}

// before reports whether a migration is older than another one.
func before(a, b *migrationv1.StorageVersionMigration) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name)) < 0
}

// Ended reports whether a migration has succeeded or failed.
func Ended(m *migrationv1.StorageVersionMigration) bool {
	return Succeeded(m) || meta.IsStatusConditionTrue(m.Status.Conditions, string(migrationv1.MigrationFailed))
}

// Succeeded reports whether a migration has succeeded.
func Succeeded(m *migrationv1.StorageVersionMigration) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, string(migrationv1.MigrationSucceeded))
}

func running(m *migrationv1.StorageVersionMigration) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, string(migrationv1.MigrationRunning))
}
