package metricsapi

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Objects reads the objects that metrics are about.
type Objects interface {
	// Preferred returns the row of a stored resource in its group's preferred version;
	// nil if there is none.
	Preferred(resource schema.GroupResource) *resources.Resource
	// List returns the newest objects that match the selectors, in a namespace, or in all
	// namespaces if it is empty or the resource is cluster-scoped. They are shared. The
	// error is ErrNotStored if the resource is not stored.
	List(ctx context.Context, resource schema.GroupVersionResource, namespace string, label labels.Selector, field fields.Selector) ([]runtime.Object, error)
}

// ErrNotStored is the error for a resource without stored objects.
var ErrNotStored = errors.New("the resource is not stored")

// API computes the responses of the metrics APIs.
type API struct {
	source  Source
	objects Objects
}

// New returns the API with the values of source.
func New(source Source, objects Objects) *API { return &API{source: source, objects: objects} }

// world implements World with Objects.
type world struct{ objects Objects }

func (a *API) world() World { return world{a.objects} }

func (w world) List(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]runtime.Object, error) {
	all, err := w.objects.List(ctx, resource, namespace, labels.Everything(), fields.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", resource, err)
	}
	return all, nil
}
