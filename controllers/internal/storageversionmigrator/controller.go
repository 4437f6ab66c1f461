package storageversionmigrator

import (
	"context"
	"fmt"

	migrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	migrationlisters "k8s.io/client-go/listers/storagemigration/v1"
	"k8s.io/client-go/metadata"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/storageversionmigrator/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "storage-version-migrator-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Aliases: []string{"svm"}, Account: "storage-version-migrator-controller",
		About:   "writes the objects of a resource again, so that they are stored in its current version",
		Watches: []string{"storageversionmigrations"},
		Writes:  []string{"storageversionmigrations/status", "customresourcedefinitions/status", "every resource that can be patched"},
		Docs:    "tasks/manage-kubernetes-objects/storage-version-migration/",
		Build:   build,
	}
}

// Controller runs migrations. Its keys are their names.
type Controller struct {
	client      kubernetes.Interface
	discovery   discovery.DiscoveryInterface
	objects     metadata.Interface
	definitions definitions
	migrations  migrationlisters.StorageVersionMigrationLister
	clock       clock.Clock
}

func build(p *controller.Parts) error {
	objects, err := metadata.NewForConfig(p.Config)
	if err != nil {
		return fmt.Errorf("making the metadata client of %s: %w", p.Name, err)
	}
	dynamicClient, err := dynamic.NewForConfig(p.Config)
	if err != nil {
		return fmt.Errorf("making the dynamic client of %s: %w", p.Name, err)
	}
	migrations := p.Informers.StorageVersionMigrations()
	c := &Controller{
		client: p.Client, discovery: p.Client.Discovery(), objects: objects, definitions: definitions{dynamicClient.Resource(definitionResource)},
		migrations: migrations.Lister(), clock: p.Clock,
	}
	l := p.Loop(controller.Each(migrations.Informer(), c.reconcile))
	l.Watch(migrations.Informer(), c.wakeSame)
	return nil
}

// wakeSame enqueues the migration and, if it may have made room for them, the other migrations of
// the same resource.
func (c *Controller) wakeSame(ev loop.Event) []types.NamespacedName {
	m, ok := ev.Object.(*migrationv1.StorageVersionMigration)
	if !ok || ev.Type == loop.Added || ev.Type == loop.Updated && !decide.Ended(m) {
		return loop.Self(ev)
	}
	same, err := c.same(m.Spec.Resource)
	if err != nil {
		return loop.Self(ev) // the lister's selector is valid
	}
	keys := loop.Self(ev)
	for _, other := range same {
		if other.Name != m.Name {
			keys = append(keys, loop.KeyOf(other))
		}
	}
	return keys
}

// same returns the migrations of a resource.
func (c *Controller) same(resource metav1.GroupResource) ([]*migrationv1.StorageVersionMigration, error) {
	all, err := c.migrations.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing storage version migrations: %w", err)
	}
	var same []*migrationv1.StorageVersionMigration
	for _, m := range all {
		if m.Spec.Resource == resource {
			same = append(same, m)
		}
	}
	return same, nil
}

// reconcile takes the next step of a migration.
func (c *Controller) reconcile(ctx context.Context, m *migrationv1.StorageVersionMigration) (loop.Result, error) {
	same, err := c.same(m.Spec.Resource)
	if err != nil {
		return loop.Result{}, err
	}
	switch decide.Next(m, same) {
	case decide.Begin:
		err = c.begin(ctx, m)
	case decide.Checkpoint:
		err = c.checkpoint(ctx, m)
	case decide.Migrate:
		err = c.migrate(ctx, m)
	case decide.End:
		err = c.end(ctx, m)
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("migrating %s for storage version migration %s: %w", m.Spec.Resource.String(), m.Name, err)
	}
	return loop.Result{}, nil
}

func (c *Controller) begin(ctx context.Context, m *migrationv1.StorageVersionMigration) error {
	if err := c.definitions.begin(ctx, m, c.clock.Now()); err != nil {
		return err
	}
	return c.write(ctx, decide.Running(m, decide.Progress{}, nil, c.clock.Now()))
}

func (c *Controller) end(ctx context.Context, m *migrationv1.StorageVersionMigration) error {
	if err := c.definitions.end(ctx, m, c.clock.Now()); err != nil {
		return err
	}
	return c.write(ctx, decide.Stopped(m, c.clock.Now()))
}

func (c *Controller) fail(ctx context.Context, m *migrationv1.StorageVersionMigration, message string) error {
	return c.write(ctx, decide.Failed(m, message, c.clock.Now()))
}

// write writes the status of a migration, unless it is gone.
func (c *Controller) write(ctx context.Context, m *migrationv1.StorageVersionMigration) error {
	_, err := c.client.StoragemigrationV1().StorageVersionMigrations().UpdateStatus(ctx, m, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing its status: %w", err)
	}
	return nil
}
