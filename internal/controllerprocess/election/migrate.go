package election

import (
	"context"

	"golang.org/x/sync/errgroup"
	config "k8s.io/controller-manager/config"
	"k8s.io/controller-manager/pkg/leadermigration"
)

// Component is this manager's name in the configuration of a migration.
const Component = "kube-controller-manager"

// Share is the set of controllers that run under one lease.
type Share struct {
	// Runs reports whether the controller belongs to the share.
	Runs func(controller string) bool
	// Ready is called when this process may start to compete for the other lease; nil if no
	// other lease waits for it.
	Ready func()
}

// Migrate competes for two leases: the lease of opts for the controllers that stay, and the lease
// of migration for the controllers that move between managers. It starts to compete for the second
// when the work under the first calls Share.Ready, so that no process holds only the
// second. It calls work once for each lease. When one of the two ends, Migrate ends the
// other.
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
