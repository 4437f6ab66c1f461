package cloudtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/simulatedcloud"
)

// Store is the store of a world that an actor writes to. It implements cloud.Store.
type Store struct {
	World  *modeltest.World
	Writer executor.Writer
	// Blind hides all instances from Get, and Stuck keeps Delete from working: mistakes to plant.
	Blind, Stuck bool
}

// Named returns a ConfigMap of the cloud without content.
func Named(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: simulatedcloud.Namespace, Name: name}}
}

// List returns all ConfigMaps.
func (s *Store) List(context.Context) ([]*corev1.ConfigMap, error) {
	return modeltest.List[*corev1.ConfigMap](s.World), nil
}

// Get returns a ConfigMap.
func (s *Store) Get(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	if s.Blind {
		name += "-unseen"
	}
	o, err := s.Writer.Get(ctx, Named(name))
	if err != nil {
		return nil, err
	}
	return o.(*corev1.ConfigMap), nil
}

// Create creates a ConfigMap.
func (s *Store) Create(ctx context.Context, c *corev1.ConfigMap) error {
	_, err := s.Writer.Create(ctx, c)
	return err
}

// Delete deletes a ConfigMap by its name.
func (s *Store) Delete(ctx context.Context, c *corev1.ConfigMap) error {
	if s.Stuck {
		return errors.New("the cloud does not answer")
	}
	live, err := s.Writer.Get(ctx, c)
	if err != nil {
		return err
	}
	return s.Writer.Delete(ctx, live)
}

// Boot creates the instance of a node unless it exists, and returns its provider ID.
func Boot(ctx context.Context, w *modeltest.World, node string, now time.Time) string {
	id := simulatedcloud.ProviderID(simulatedcloud.DefaultZone, node, now)
	i := simulatedcloud.Instance{Name: node, ProviderID: id}
	if _, err := w.Create(ctx, i.ConfigMap()); err == nil {
		return id
	}
	live, ok := Find(ctx, w, node)
	if !ok {
		panic(fmt.Sprintf("the ConfigMap %s is no instance", node))
	}
	return live.ProviderID
}

// Find returns the instance of a node.
func Find(ctx context.Context, w *modeltest.World, node string) (simulatedcloud.Instance, bool) {
	o, err := w.Get(ctx, Named(node))
	if err != nil {
		return simulatedcloud.Instance{}, false
	}
	return simulatedcloud.InstanceOf(o.(*corev1.ConfigMap))
}

// Kill deletes a ConfigMap if it exists.
func Kill(ctx context.Context, w *modeltest.World, name string) {
	if live, err := w.Get(ctx, Named(name)); err == nil {
		_ = w.Delete(ctx, live) // it exists
	}
}

// SetState sets the state of an instance.
func SetState(w *modeltest.World, node, state string) {
	w.Change(Named(node), func(o plan.Object) { simulatedcloud.SetState(o.(*corev1.ConfigMap), state) })
}
