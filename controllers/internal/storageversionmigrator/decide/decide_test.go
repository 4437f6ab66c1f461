package decide

import (
	"errors"
	"testing"
	"time"

	migrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noon = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)

// migration returns a migration that is so many seconds younger than noon, with conditions that
// are true.
func migration(name string, age int, version string, conditions ...migrationv1.MigrationConditionType) *migrationv1.StorageVersionMigration {
	m := &migrationv1.StorageVersionMigration{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(age) * time.Second))}}
	m.Status.ResourceVersion = version
	for _, c := range conditions {
		m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: string(c), Status: metav1.ConditionTrue})
	}
	return m
}

func TestNext(t *testing.T) {
	const running, succeeded, failed = migrationv1.MigrationRunning, migrationv1.MigrationSucceeded, migrationv1.MigrationFailed
	type all = []*migrationv1.StorageVersionMigration
	for name, test := range map[string]struct {
		m    *migrationv1.StorageVersionMigration
		same all
		want Step
	}{
		"new":                      {migration("m", 0, ""), nil, Begin},
		"among itself":             {migration("m", 0, ""), all{migration("m", 0, "")}, Begin},
		"running":                  {migration("m", 0, "", running), nil, Checkpoint},
		"with a checkpoint":        {migration("m", 0, "7", running), nil, Migrate},
		"succeeded":                {migration("m", 0, "7", running, succeeded), nil, End},
		"failed":                   {migration("m", 0, "", running, failed), nil, End},
		"over":                     {migration("m", 0, "7", succeeded), nil, Nothing},
		"failed before it began":   {migration("m", 0, "", failed), nil, Nothing},
		"an older one waits":       {migration("m", 1, ""), all{migration("o", 0, "")}, Nothing},
		"an older one runs":        {migration("m", 1, ""), all{migration("o", 0, "", running)}, Nothing},
		"a younger one runs":       {migration("m", 0, ""), all{migration("o", 1, "", running)}, Nothing},
		"a younger one waits":      {migration("m", 0, ""), all{migration("o", 1, "")}, Begin},
		"an older one has ended":   {migration("m", 1, ""), all{migration("o", 0, "7", running, succeeded)}, Begin},
		"as old, and first":        {migration("m", 0, ""), all{migration("n", 0, "")}, Begin},
		"as old, and second":       {migration("m", 0, ""), all{migration("l", 0, "")}, Nothing},
		"running beside a younger": {migration("m", 0, "7", running), all{migration("n", 0, "7", running)}, Migrate},
	} {
		if got := Next(test.m, test.same); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestConditions(t *testing.T) {
	m := migration("m", 0, "")
	for name, test := range map[string]struct {
		m    *migrationv1.StorageVersionMigration
		last string
	}{
		"running": {Running(m, Progress{}, nil, noon), "Running True MigrationRunning The migration is running"},
		"half":    {Running(m, Progress{2, 5}, nil, noon), "Running True MigrationRunning The migration is running, 2/5 objects not yet migrated"},
		"interrupted": {
			Running(m, Progress{2, 5}, errors.New("busy"), noon),
			"Running True MigrationRunning The migration is running, 2/5 objects not yet migrated; transient error: busy",
		},
		"completed": {Completed(m, Progress{0, 5}, noon), "Succeeded True StorageVersionMigrationSucceeded Migration completed"},
		"failed":    {Failed(m, "no", noon), "Failed True StorageVersionMigrationFailed no"},
		"stopped":   {Stopped(m, noon), "Running False MigrationCompleted Migration completed"},
	} {
		c := test.m.Status.Conditions[len(test.m.Status.Conditions)-1]
		if got := c.Type + " " + string(c.Status) + " " + c.Reason + " " + c.Message; got != test.last || !c.LastTransitionTime.Time.Equal(noon) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if len(m.Status.Conditions) > 0 {
		t.Error("a migration of the cache was changed")
	}
	if got := Completed(m, Progress{0, 5}, noon).Status.Conditions[0].Message; got != "The migration is running, 5 objects verified migrated" {
		t.Error(got)
	}
}
