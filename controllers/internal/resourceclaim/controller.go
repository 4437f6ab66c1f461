package resourceclaim

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/resourceclaim/decide"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/podreferences"
)

const (
	eventSource = "resource_claim" // upstream's
	// fieldManager is the field manager of its writes of pods, and workers upstream's default.
	fieldManager = "ResourceClaimController"
	workers      = 50
)

const podsByClaim = "minikcm.dev/pods-by-resource-claim"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: "resourceclaim-controller", Workers: workers, Aliases: []string{"resource-claim-controller"}, Account: "resource-claim-controller",
		About:   "creates the resource claims of pods from templates, and frees claims whose pods have ended",
		Watches: []string{"pods", "resourceclaims", "resourceclaimtemplates"},
		Writes:  []string{"resourceclaims", "resourceclaims/status", "pods/status"},
		Docs:    "concepts/scheduling-eviction/dynamic-resource-allocation/",
		Concurrency: controller.Concurrency{Flag: "concurrent-resourceclaim-syncs", What: "pods and resource claims", In: func(s *controller.Settings) *int32 {
			return &s.ResourceClaimController.ConcurrentSyncs
		}},
		Build: build,
	}
}

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
}

func build(p *controller.Parts) error {
	pods := p.Informers.Pods()
	claims, templates := p.Informers.ResourceClaims(), p.Informers.ResourceClaimTemplates()
	c := &Controller{
		client: p.Client, recorder: p.Recorder.For(eventSource),
		pods: pods.Lister(), users: pods.Informer().GetIndexer(), claims: claims.Lister(), templates: templates.Lister(),
		creates: env.NewClaimCreates(p.Env),
	}
	var err error
	if c.generated, err = newGenerated(claims.Informer().GetIndexer()); err != nil {
		return fmt.Errorf("indexing resource claims by their pods: %w", err)
	}
	if err := indexPods(c.users); err != nil {
		return fmt.Errorf("indexing pods by their resource claims: %w", err)
	}
	podLoop := p.Loop(controller.Each(pods.Informer(), c.reconcilePod))
	podLoop.Watch(pods.Informer(), onPod, c.generated.observePod)
	podLoop.Watch(claims.Informer(), c.podsOf, c.generated.observeClaim)
	podLoop.Watch(templates.Informer(), loop.None)
	claimLoop := p.Beside("-claims", workers, controller.Each(claims.Informer(), c.reconcileClaim))
	claimLoop.Watch(pods.Informer(), claimsOf)
	claimLoop.Watch(claims.Informer(), onClaim)
	if p.Registry != nil {
		p.Go(c.publish(p.Registry))
	}
	return nil
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

// publish publishes the number of claims until ctx ends.
func (c *Controller) publish(registry prometheus.Registerer) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		counted := newCensus(c.claims)
		if err := registry.Register(counted); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
		defer registry.Unregister(counted)
		<-ctx.Done()
		return nil
	}
}

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
