package storageversionmigrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	migrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"minikcm.dev/minikcm/controllers/internal/storageversionmigrator/decide"
)

// pageSize is the number of objects that are listed at a time.
const pageSize = 500

// patience is the time that a new resource has to appear in discovery, as upstream.
const patience = time.Minute

// errNotServed means that a resource is not in discovery.
var errNotServed = errors.New("the resource is not in discovery")

// served is a resource in discovery, in the first of its versions.
type served struct {
	schema.GroupVersionResource
	kind  string
	verbs []string
}

// find looks for a resource in discovery.
func (c *Controller) find(resource metav1.GroupResource) (served, error) {
	groups, err := c.discovery.ServerGroups()
	if err != nil {
		return served{}, fmt.Errorf("reading the groups in discovery: %w", err)
	}
	for i := range groups.Groups {
		if groups.Groups[i].Name != resource.Group {
			continue
		}
		for _, version := range groups.Groups[i].Versions {
			list, err := c.discovery.ServerResourcesForGroupVersion(version.GroupVersion)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return served{}, fmt.Errorf("reading discovery of %s: %w", version.GroupVersion, err)
			}
			for _, r := range list.APIResources {
				if r.Name == resource.Resource {
					gvr := schema.GroupVersionResource{Group: resource.Group, Version: version.Version, Resource: resource.Resource}
					return served{gvr, r.Kind, r.Verbs}, nil
				}
			}
		}
	}
	return served{}, errNotServed
}

// checkpoint records the present resource version: objects that are written later are stored in the
// current version anyway.
func (c *Controller) checkpoint(ctx context.Context, m *migrationv1.StorageVersionMigration) error {
	resource, err := c.find(m.Spec.Resource)
	switch {
	case errors.Is(err, errNotServed) && c.clock.Since(m.CreationTimestamp.Time) >= patience:
		return c.fail(ctx, m, "resource does not exist in discovery")
	case err != nil:
		return err
	}
	required := []string{"update", "patch", "list"}
	if slices.ContainsFunc(required, func(verb string) bool { return !slices.Contains(resource.verbs, verb) }) {
		return c.fail(ctx, m, fmt.Sprintf("resource %q does not support discovery operations: %v", resource.String(), required))
	}
	list, err := c.objects.Resource(resource.GroupVersionResource).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("getting the latest resource version of %s: %w", resource.String(), err)
	}
	version := list.GetResourceVersion()
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return c.fail(ctx, m, fmt.Sprintf("latest resourceVersion for %s is not valid: %s", resource.String(), err))
	}
	m = m.DeepCopy()
	m.Status.ResourceVersion = version
	return c.write(ctx, m)
}

// object identifies a version of an object.
type object struct{ namespace, name, version string }

// migrate writes the objects up to the migration's resource version. An object that has changed or
// is gone needs no write.
func (c *Controller) migrate(ctx context.Context, m *migrationv1.StorageVersionMigration) error {
	resource, err := c.find(m.Spec.Resource)
	switch {
	case errors.Is(err, errNotServed) && c.clock.Since(m.CreationTimestamp.Time) >= patience:
		return c.fail(ctx, m, "migration encountered unhandled error: unable to obtain GVR from discovery")
	case err != nil:
		return err
	}
	old, total, err := c.list(ctx, resource.GroupVersionResource, m.Status.ResourceVersion)
	if err != nil {
		return err
	}
	for i, o := range old {
		err := c.rewrite(ctx, &resource, o)
		progress := decide.Progress{Left: len(old) - i, Total: total}
		switch {
		case err == nil, apierrors.IsConflict(err), apierrors.IsNotFound(err):
		case ctx.Err() != nil:
			return err
		case transient(err):
			return errors.Join(err, c.write(ctx, decide.Running(m, progress, err, c.clock.Now())))
		default:
			now := c.clock.Now()
			message := fmt.Sprintf("%d/%d not yet migrated. migration encountered unhandled error: %s", progress.Left, progress.Total, err)
			return c.write(ctx, decide.Failed(decide.Running(m, progress, nil, now), message, now))
		}
	}
	return c.write(ctx, decide.Completed(m, decide.Progress{Total: total}, c.clock.Now()))
}

// list returns the objects up to a resource version, and the number of all.
func (c *Controller) list(ctx context.Context, resource schema.GroupVersionResource, until string) (old []object, total int, err error) {
	opts := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.objects.Resource(resource).List(ctx, opts)
		if err != nil {
			return nil, 0, fmt.Errorf("listing %s: %w", resource.String(), err)
		}
		total += len(page.Items)
		for i := range page.Items {
			o := &page.Items[i]
			order, err := resourceversion.CompareResourceVersion(o.ResourceVersion, until)
			if err != nil {
				return nil, 0, fmt.Errorf("comparing the resource version of %s/%s: %w", o.Namespace, o.Name, err)
			}
			if order <= 0 {
				old = append(old, object{o.Namespace, o.Name, o.ResourceVersion})
			}
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			return old, total, nil
		}
	}
}

// rewrite writes an object without a change, unless it has another version by now.
func (c *Controller) rewrite(ctx context.Context, resource *served, o object) error {
	apiVersion, kind := resource.GroupVersion().WithKind(resource.kind).ToAPIVersionAndKind()
	patch, err := json.Marshal(map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]string{"resourceVersion": o.version}})
	if err != nil {
		return fmt.Errorf("encoding the patch of %s %s/%s: %w", resource.Resource, o.namespace, o.name, err)
	}
	_, err = c.objects.Resource(resource.GroupVersionResource).Namespace(o.namespace).Patch(ctx, o.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Name})
	return err
}

// transient reports whether a write may succeed later, as upstream.
func transient(err error) bool {
	return utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) || utilnet.IsProbableEOF(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err)
}
