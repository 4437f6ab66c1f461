package resourceclaim

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/resourceclaim/decide"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/podreferences"
)

// Name is upstream's name of the controller, eventSource upstream's source of its events,
// fieldManager the field manager of its writes of pods, and Workers upstream's default.
const (
	Name         = "resourceclaim-controller"
	eventSource  = "resource_claim"
	fieldManager = "ResourceClaimController"
	Workers      = 50
)

const podsByClaim = "minikcm.dev/pods-by-resource-claim"

// Controller provides pods with claims and frees claims. Its loops have the keys of pods and of
// claims.
type Controller struct {
	client    kubernetes.Interface
	recorder  record.EventRecorder
	pods      corelisters.PodLister
	users     cache.Indexer
	claims    resourcelisters.ResourceClaimLister
	templates resourcelisters.ResourceClaimTemplateLister
	generated *generated
	creates   env.ClaimCreates
	registry  prometheus.Registerer

	podLoop, claimLoop loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	pods := e.Informers.Pods()
	claims, templates := e.Informers.ResourceClaims(), e.Informers.ResourceClaimTemplates()
	c := &Controller{
		client: client, recorder: e.Recorder.For(eventSource),
		pods: pods.Lister(), users: pods.Informer().GetIndexer(), claims: claims.Lister(), templates: templates.Lister(),
		creates: env.NewClaimCreates(e), registry: e.Registry,
	}
	if c.generated, err = newGenerated(claims.Informer().GetIndexer()); err != nil {
		return nil, fmt.Errorf("indexing resource claims by their pods: %w", err)
	}
	if err := indexPods(c.users); err != nil {
		return nil, fmt.Errorf("indexing pods by their resource claims: %w", err)
	}
	c.podLoop = loop.New(e.Loop(Name, Workers), loop.Func(c.reconcilePod))
	c.podLoop.Watch(pods.Informer(), onPod, c.generated.observePod)
	c.podLoop.Watch(claims.Informer(), c.podsOf, c.generated.observeClaim)
	c.podLoop.Watch(templates.Informer(), loop.None)
	c.claimLoop = loop.New(e.Loop(Name+"-claims", Workers), loop.Func(c.reconcileClaim))
	c.claimLoop.Watch(pods.Informer(), claimsOf)
	c.claimLoop.Watch(claims.Informer(), onClaim)
	return c, nil
}

// indexPods adds an index of pods by the keys of their claims, unless the cache has it.
func indexPods(pods cache.Indexer) error {
	if _, has := pods.GetIndexers()[podsByClaim]; has {
		return nil
	}
	return pods.AddIndexers(cache.Indexers{podsByClaim: func(obj any) ([]string, error) {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return nil, nil
		}
		names := podreferences.ResourceClaims(pod)
		for i, name := range names {
			names[i] = pod.Namespace + "/" + name
		}
		return names, nil
	}})
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	if c.registry != nil {
		counted := newCensus(c.claims)
		if err := c.registry.Register(counted); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
		defer c.registry.Unregister(counted)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.podLoop.Run(ctx) })
	group.Go(func() error { return c.claimLoop.Run(ctx) })
	return group.Wait()
}

// Stats returns the counters of the loop of pods.
func (c *Controller) Stats() loop.Stats { return c.podLoop.Stats() }

// onPod wakes a pod with claims.
func onPod(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok || ev.Type == loop.Deleted || len(pod.Spec.ResourceClaims) == 0 || pod.DeletionTimestamp != nil || decide.Ended(pod) {
		return nil
	}
	return loop.Self(ev)
}

// podsOf wakes the pods that use a claim: they may need another one, or a reservation. Those that
// are named by the claim's owner reference only are woken by their own events.
func (c *Controller) podsOf(ev loop.Event) []types.NamespacedName {
	objects, err := c.users.ByIndex(podsByClaim, loop.KeyOf(ev.Object).String())
	if err != nil {
		return nil // happens only without the index
	}
	var keys []types.NamespacedName
	for _, obj := range objects {
		if pod, ok := obj.(*corev1.Pod); ok && pod.DeletionTimestamp == nil && !decide.Ended(pod) {
			keys = append(keys, loop.KeyOf(pod))
		}
	}
	return keys
}

// claimsOf wakes the claims of a pod that does not need them any more.
func claimsOf(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok || len(pod.Spec.ResourceClaims) == 0 && pod.Status.ExtendedResourceClaimStatus == nil || ev.Type != loop.Deleted && !decide.Ended(pod) {
		return nil
	}
	var keys []types.NamespacedName
	for _, name := range podreferences.ResourceClaims(pod) {
		keys = append(keys, types.NamespacedName{Namespace: pod.Namespace, Name: name})
	}
	return keys
}

// onClaim wakes a claim that has something to release.
func onClaim(ev loop.Event) []types.NamespacedName {
	claim, ok := ev.Object.(*resourcev1.ResourceClaim)
	if !ok || ev.Type == loop.Deleted {
		return nil
	}
	if len(claim.Status.ReservedFor) == 0 && claim.DeletionTimestamp == nil && decide.OwnerPod(claim) == nil {
		return nil
	}
	return loop.Self(ev)
}
