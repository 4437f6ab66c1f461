package kubeletsim

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/kubeletsim/internal/containers"
	"minikcm.dev/minikcm/kubeletsim/internal/images"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// supplies wakes pods when a ConfigMap, a Secret or a ClusterTrustBundle that they miss appears,
// a claim is bound, or a resource claim changes. Nothing is watched before a pod misses something.
type supplies struct {
	*common
	// configMapLister has all ConfigMaps: any of them may declare a profile of images.
	configMapLister corev1listers.ConfigMapLister
	containers      *containers.Runtime
	images          *images.Profiles
	makers          makers

	mu       sync.Mutex
	waiting  map[supply]map[types.UID]bool
	watching map[string]bool // by supply.kind
}

// supply is an object that pods need, or any ClusterTrustBundle of a signer. Its kind is
// the Kind of a lifecycle.Need, or ofResourceClaim.
type supply struct {
	kind string
	name types.NamespacedName
}

// The kinds of supplies that are no ConfigMaps.
var (
	ofSecret = lifecycle.Need{Secret: true}.Kind()
	ofClaim  = lifecycle.Need{Claim: true}.Kind()
	ofSigner = lifecycle.Need{Bundles: &corev1.ClusterTrustBundleProjection{}}.Kind()
	ofBundle = lifecycle.Need{Bundles: &corev1.ClusterTrustBundleProjection{Name: new(string)}}.Kind()
	// ofResourceClaim is not a need of Needs: the status of the pod names the claim.
	ofResourceClaim = "resourceclaim"
)

// missing returns the pod's needs that do not exist. The pod is synced when one of these
// objects changes.
func (s *supplies) missing(ctx context.Context, e *podEntry, pod *corev1.Pod) ([]lifecycle.Need, error) {
	needs := lifecycle.Needs(pod)
	if len(needs) == 0 {
		return nil, nil
	}
	keys := map[supply]map[string]bool{}
	var missing []lifecycle.Need
	for _, n := range needs {
		of := supply{n.Kind(), types.NamespacedName{Namespace: pod.Namespace, Name: n.Name}}
		got, looked := keys[of]
		var err error
		switch {
		case n.Bundles != nil:
			of.name.Namespace = ""
			got, err = s.bundleKeys(ctx, n.Bundles)
		case !looked:
			got, err = s.keysOf(ctx, of)
			keys[of] = got
		}
		if err != nil {
			return nil, err
		}
		n.Found = got != nil
		if n.Found && (n.Key == "" || got[n.Key]) {
			continue
		}
		if s.assume(e, pod, n) {
			continue
		}
		missing = append(missing, n)
		if err := s.await(of, pod.UID); err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// keysOf returns the keys of an object; nil if it does not exist.
func (s *supplies) keysOf(ctx context.Context, of supply) (map[string]bool, error) {
	keys := map[string]bool{}
	var err error
	core := s.opts.Client.CoreV1()
	switch of.kind {
	case ofClaim:
		var claim *corev1.PersistentVolumeClaim
		claim, err = core.PersistentVolumeClaims(of.name.Namespace).Get(ctx, of.name.Name, metav1.GetOptions{})
		if err == nil {
			keys[lifecycle.ClaimBound] = claim.Status.Phase == corev1.ClaimBound
		}
	case ofSecret:
		var secret *corev1.Secret
		secret, err = core.Secrets(of.name.Namespace).Get(ctx, of.name.Name, metav1.GetOptions{})
		if err == nil {
			addKeys(keys, secret.Data)
		}
	default:
		var configMap *corev1.ConfigMap
		configMap, err = s.configMap(ctx, of.name)
		if err == nil {
			addKeys(keys, configMap.Data)
			addKeys(keys, configMap.BinaryData)
		}
	}
	if apierrors.IsNotFound(err) || isNotOurs(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", of.kind, of.name, err)
	}
	return keys, nil
}

// configMap returns a ConfigMap of the informer, as upstream's kubelet does, or one that the
// informer does not have yet. Every pod mounts one, with the certificate of the API server.
func (s *supplies) configMap(ctx context.Context, name types.NamespacedName) (*corev1.ConfigMap, error) {
	if known, err := s.configMapLister.ConfigMaps(name.Namespace).Get(name.Name); err == nil {
		return known, nil
	}
	return s.opts.Client.CoreV1().ConfigMaps(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
}

func addKeys[V any](keys map[string]bool, data map[string]V) {
	for key := range data {
		keys[key] = true
	}
}

// await queues the pod when the object changes. Timeline: missing reads the API and finds no
// object; the object is created; await starts the informer, whose initial list has the object,
// and the pod is queued. If the informer runs already, await queues the pod once, because the
// event may have come between the read and await.
func (s *supplies) await(of supply, pod types.UID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = map[supply]map[types.UID]bool{}
		s.watching = map[string]bool{}
	}
	pods := s.waiting[of]
	if pods == nil {
		pods = map[types.UID]bool{}
		s.waiting[of] = pods
	}
	known := pods[pod]
	pods[pod] = true
	if s.watching[of.kind] {
		if !known {
			// The object may have been created between the read and now.
			s.loop.Add(podKey(string(pod)))
		}
		return nil
	}
	s.watching[of.kind] = true
	return s.watch(of.kind)
}

func (s *supplies) watch(kind string) error {
	if kind == ofBundle || kind == ofSigner {
		return s.watchBundles()
	}
	var informer cache.SharedIndexInformer
	switch kind {
	case ofClaim:
		informer = s.informers.PersistentVolumeClaims().Informer()
	case ofSecret:
		informer = s.informers.Secrets().Informer()
	case ofResourceClaim:
		informer = s.informers.ResourceClaims().Informer()
	default:
		informer = s.informers.ConfigMaps().Informer()
	}
	come := func(obj any) {
		if o, ok := obj.(metav1.Object); ok {
			s.supplied(supply{kind, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}})
		}
	}
	return s.follow(informer, come)
}

func (s *supplies) follow(informer cache.SharedIndexInformer, come func(obj any)) error {
	if err := s.handle(informer, come, func(any) {}); err != nil {
		return fmt.Errorf("watching what pods miss: %w", err)
	}
	s.informers.Start(s.ended)
	return nil
}

// supplied queues the pods that wait for an object.
func (s *supplies) supplied(of supply) {
	s.mu.Lock()
	pods := s.waiting[of]
	delete(s.waiting, of)
	s.mu.Unlock()
	for pod := range pods {
		s.loop.Add(podKey(string(pod)))
	}
}

// secretsIn returns the Secrets of a namespace that pods wait for.
func (s *supplies) secretsIn(namespace string) []supply {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []supply
	for missed := range s.waiting {
		if missed.kind == ofSecret && missed.name.Namespace == namespace {
			found = append(found, missed)
		}
	}
	return found
}

// forget removes a pod from all waiting lists.
func (s *supplies) forget(pod types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, pods := range s.waiting {
		delete(pods, pod)
		if len(pods) == 0 {
			delete(s.waiting, name)
		}
	}
}
