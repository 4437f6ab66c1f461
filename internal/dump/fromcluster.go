package dump

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
)

// pageSize is the limit of a list request.
const pageSize = 500

// FromCluster reads the objects of a cluster by GET requests only: discovery, and paged lists
// of every kind that Load would load. A list that the API server refuses is noted in Skipped.
// A failed list of pods or nodes, without which a dump is of little use, is an error, and so
// is a lost connection.
func FromCluster(ctx context.Context, config *rest.Config) (*Dump, error) {
	return fromCluster(ctx, config, metav1.ListOptions{})
}

// FromRevision is FromCluster for the objects as they were at a resourceVersion. The error
// is apierrors.IsResourceExpired if the cluster has forgotten it.
func FromRevision(ctx context.Context, config *rest.Config, resourceVersion string) (*Dump, error) {
	return fromCluster(ctx, config, metav1.ListOptions{ResourceVersion: resourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
}

func fromCluster(ctx context.Context, config *rest.Config, opts metav1.ListOptions) (*Dump, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.WarningHandler = rest.NoWarnings{}
	finder, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating the client that reads a cluster: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating the client that reads a cluster: %w", err)
	}
	d := &Dump{Sources: []string{"the cluster at " + config.Host}}
	served, err := discovery.ServerPreferredResources(finder)
	if err != nil && len(served) == 0 {
		return nil, fmt.Errorf("discovering the API resources of the cluster at %s: %w", config.Host, err)
	}
	for _, resource := range listable(served) {
		if err := d.list(ctx, client, resource, opts); err != nil {
			return nil, fmt.Errorf("reading the cluster at %s: %w", config.Host, err)
		}
	}
	return d, nil
}

// IsOwn reports whether each cluster makes such an object for itself, or has it as a part of its
// history, so that Load leaves it out whatever else a dump has.
func IsOwn(o *unstructured.Unstructured) bool { return leftOut(o) != "" }

// listed is a resource to list.
type listed struct {
	resource schema.GroupVersionResource
	kind     string
}

// listable returns the resources whose objects may be loaded, sorted by name.
func listable(served []*metav1.APIResourceList) []listed {
	var all []listed
	for _, list := range served {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		// The kinds of the simulation show the process, or ConfigMaps and Nodes, which are listed themselves.
		if err != nil || gv.Group == "simulation.minikcm.dev" {
			continue
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if !slices.Contains(r.Verbs, "list") || isSubresource(r.Name) {
				continue
			}
			sample := &unstructured.Unstructured{}
			sample.SetGroupVersionKind(gv.WithKind(r.Kind))
			// Kinds whose objects are always left out are not listed.
			if why := leftOut(sample); why == "" || why == leftOwn {
				all = append(all, listed{gv.WithResource(r.Name), r.Kind})
			}
		}
	}
	slices.SortFunc(all, func(a, b listed) int { return strings.Compare(a.resource.String(), b.resource.String()) })
	return all
}

// list reads the objects of a resource.
func (d *Dump) list(ctx context.Context, client dynamic.Interface, of listed, opts metav1.ListOptions) error {
	pages := pager.New(func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		if opts.Continue != "" { // the token has the revision, beside which none may be given
			opts.ResourceVersion, opts.ResourceVersionMatch = "", ""
		}
		return client.Resource(of.resource).List(ctx, opts)
	})
	pages.PageSize = pageSize
	begun := len(d.objects)
	err := pages.EachListItem(ctx, opts, func(item runtime.Object) error {
		o, ok := item.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("an item of %s is a %T", of.resource.Resource, item)
		}
		if len(d.objects) == MaxObjects {
			return errTooMany
		}
		d.objects = append(d.objects, o)
		return nil
	})
	name := of.resource.GroupResource().String()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, errors.Is(err, errTooMany), name == "pods", name == "nodes", apierrors.IsResourceExpired(err), !isAnswer(err):
		return fmt.Errorf("listing %s: %w", name, err)
	}
	d.objects = d.objects[:begun]
	d.Skipped = note(d.Skipped, "the cluster refuses to list them: "+err.Error(), "all "+name)
	return nil
}

var errTooMany = fmt.Errorf("more than %d objects", MaxObjects)

// isAnswer reports whether an error is a response of the API server, not a failed connection.
func isAnswer(err error) bool {
	return apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
}
