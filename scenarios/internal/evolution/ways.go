package evolution

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/clock/informers"
)

// pollInterval is the time between two polls.
const pollInterval = time.Second

// mirrors is the custom resource whose controller is the last way: one object has the data
// of all copies.
var mirrors = schema.GroupVersionResource{Group: "evolution.minikcm.dev", Version: "v1", Resource: "mirrors"}

// poll reads all sources and copies once a second, whether something changed or not.
func (s *stage) poll(ctx context.Context, d time.Duration) error {
	for passed := time.Duration(0); passed < d; passed += pollInterval {
		for consumer := range consumers {
			sources, err := s.client.CoreV1().ConfigMaps(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: selector})
			if err != nil {
				return fmt.Errorf("listing the sources: %w", err)
			}
			c := &copier{client: s.client, consumer: consumer, read: fromAPI(s.client)}
			for i := range sources.Items {
				if err := c.reconcile(ctx, &sources.Items[i]); err != nil {
					return err
				}
			}
		}
		if err := s.sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
	return nil
}

// own gives every consumer an informer of its own. A change of a source causes a get of the
// copy.
func (s *stage) own(ctx context.Context) error {
	for consumer := range consumers {
		factory, err := s.factory(selector)
		if err != nil {
			return err
		}
		c := &copier{client: s.client, consumer: consumer, read: fromAPI(s.client)}
		if err := s.follow(ctx, factory, c); err != nil {
			return err
		}
		s.start(ctx, factory)
	}
	return nil
}

// shared gives all consumers one informer, whose cache has the copies too. Nothing is read
// from the API server, and only what differs is written.
func (s *stage) shared(ctx context.Context) error {
	factory, err := s.factory("evolution in (source, copy)")
	if err != nil {
		return err
	}
	lister := factory.ConfigMaps().Lister()
	for consumer := range consumers {
		if err := s.follow(ctx, factory, &copier{client: s.client, consumer: consumer, read: fromCache(lister)}); err != nil {
			return err
		}
	}
	s.start(ctx, factory)
	return nil
}

// fromCache reads from an informer's cache.
func fromCache(lister corelisters.ConfigMapLister) reader {
	return func(_ context.Context, namespace, name string) (*corev1.ConfigMap, error) {
		found, err := lister.ConfigMaps(namespace).Get(name)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return found, err
	}
}

func (s *stage) factory(labels string) (informers.Kinds, error) {
	return informers.KindsFor(s.config, s.ledger, informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = labels }))
}

func (s *stage) start(ctx context.Context, factory informers.Kinds) {
	factory.Start(ctx.Done())
	s.ending.Go(func() {
		<-ctx.Done()
		factory.Shutdown()
	})
}

// follow reconciles every source that changes.
func (s *stage) follow(ctx context.Context, factory informers.Kinds, c *copier) error {
	changed := func(obj any) {
		if source, ok := obj.(*corev1.ConfigMap); ok && source.Labels["evolution"] == "source" {
			s.failed(ctx, c.reconcile(ctx, source))
		}
	}
	_, err := factory.ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) },
	})
	return err
}

// custom is the controller of the custom resource. Each Mirror holds the data of all its
// copies, which are applied without reading anything.
func (s *stage) custom(ctx context.Context) error {
	config := rest.CopyConfig(s.config)
	if s.ledger != nil {
		informers.Wrap(config)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making the client of the controller of mirrors: %w", err)
	}
	informer := informers.Counted(dynamicinformer.NewFilteredDynamicInformer(client, mirrors, metav1.NamespaceAll, 0, nil, nil).Informer(), s.ledger)
	changed := func(obj any) {
		if mirror, ok := obj.(*unstructured.Unstructured); ok {
			s.failed(ctx, s.mirror(ctx, mirror))
		}
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) }})
	s.ending.Go(func() { informer.RunWithContext(ctx) })
	return err
}

func (s *stage) mirror(ctx context.Context, mirror *unstructured.Unstructured) error {
	data, _, err := unstructured.NestedStringMap(mirror.Object, "spec", "data")
	if err != nil {
		return fmt.Errorf("reading the mirror %s: %w", mirror.GetName(), err)
	}
	for consumer := range consumers {
		name := fmt.Sprintf("%s-copy-%d", mirror.GetName(), consumer)
		wish := copyOf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: mirror.GetNamespace()}, Data: data}, name)
		wish.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
		patch, err := json.Marshal(wish)
		if err != nil {
			return fmt.Errorf("encoding the copy %s: %w", name, err)
		}
		_, err = s.client.CoreV1().ConfigMaps(mirror.GetNamespace()).Patch(ctx, name, types.ApplyPatchType, patch, metav1.PatchOptions{FieldManager: "mirrors", Force: ptr.To(true)})
		if err != nil {
			return fmt.Errorf("applying the copy %s: %w", name, err)
		}
	}
	return nil
}
