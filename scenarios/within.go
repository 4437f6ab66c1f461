package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// lister and resourceClient are what checks need of a dynamic client.
type lister interface {
	List(ctx context.Context, opts metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

type resourceClient = dynamic.ResourceInterface

// within looks until look is satisfied (nil), at first and after every write, for at
// most limit of the cluster's time; 0 looks once. The last look is taken at the
// limit itself.
func (r *run) within(ctx context.Context, limit time.Duration, look func(ctx context.Context) error) error {
	if limit == 0 {
		return look(ctx)
	}
	deadline := r.cluster.Clock().Now().Add(limit)
	var last error
	arm := func(raise func()) {
		timer := r.cluster.Clock().AfterFunc(limit, raise)
		context.AfterFunc(ctx, func() { timer.Stop() })
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := r.cluster.Until(ctx, func(ctx context.Context) (bool, error) {
		last = look(ctx)
		var d *differs
		switch {
		case last == nil:
			return true, nil
		case !errors.As(last, &d):
			return true, last
		case !r.cluster.Clock().Now().Before(deadline):
			return true, fmt.Errorf("not within %v: %w", limit, last)
		}
		return false, nil
	}, arm)
	if cause := context.Cause(ctx); err != nil && cause != nil && last != nil {
		return fmt.Errorf("%w: %w", cause, last)
	}
	return err
}
