package election

import (
	"context"

	"golang.org/x/sync/errgroup"
	config "k8s.io/controller-manager/config"
	"k8s.io/controller-manager/pkg/leadermigration"
)

// Component is the name by which a migration's configuration knows this manager.
const Component = "kube-controller-manager"

// Share is which controllers run under a lease.
type Share struct {
	// Runs reports whether the controller is among them.
	Runs func(controller string) bool
	// Ready is called when the other lease may be asked for; nil: there is none that
	// waits.
	Ready func()
}

// Migrate leads two leases: opts' own for the controllers that stay, and the
// migration's for those that move between managers. The second is asked for when the
// first's work says that it is ready, so that no process has only the second. Work is
// called for each. When one of them ends, so does the other.
func Migrate(ctx context.Context, opts Options, migration *config.LeaderMigrationConfiguration, work func(ctx context.Context, share Share) error) error {
	migrator := leadermigration.NewLeaderMigrator(migration, Component)
	runs := func(result leadermigration.FilterResult) func(string) bool {
		return func(controller string) bool { return migrator.FilterFunc(controller) == result }
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return Lead(ctx, opts, func(ctx context.Context) error {
			return work(ctx, Share{Runs: runs(leadermigration.ControllerNonMigrated), Ready: func() { close(migrator.MigrationReady) }})
		})
	})
	group.Go(func() error {
		select {
		case <-migrator.MigrationReady:
		case <-ctx.Done():
			return nil
		}
		second := opts
		second.Config.ResourceLock, second.Config.ResourceName = migration.ResourceLock, migration.LeaderName
		return Lead(ctx, second, func(ctx context.Context) error {
			return work(ctx, Share{Runs: runs(leadermigration.ControllerMigrated)})
		})
	})
	return group.Wait()
}
