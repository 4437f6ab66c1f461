package kubeletsim

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// supplies wakes pods when a ConfigMap, a Secret or a ClusterTrustBundle that they miss appears,
// a claim is bound, or a resource claim changes. Nothing is watched before a pod misses something.
type supplies struct {
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
func (k *Kubelets) missing(ctx context.Context, e *podEntry, pod *corev1.Pod) ([]lifecycle.Need, error) {
	needs := lifecycle.Needs(pod)
	if len(needs) == 0 {
		return nil, nil
	}
	keys := map[supply]map[string]bool{}
	var missing []lifecycle.Need
	for _, n := range needs {
		s := supply{n.Kind(), types.NamespacedName{Namespace: pod.Namespace, Name: n.Name}}
		got, looked := keys[s]
		var err error
		switch {
		case n.Bundles != nil:
			s.name.Namespace = ""
			got, err = k.bundleKeys(ctx, n.Bundles)
		case !looked:
			got, err = k.keysOf(ctx, s)
			keys[s] = got
		}
		if err != nil {
			return nil, err
		}
		n.Found = got != nil
		if n.Found && (n.Key == "" || got[n.Key]) {
			continue
		}
		if k.assume(e, pod, n) {
			continue
		}
		missing = append(missing, n)
		if err := k.await(s, pod.UID); err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// keysOf returns the keys of an object; nil if it does not exist.
func (k *Kubelets) keysOf(ctx context.Context, s supply) (map[string]bool, error) {
	keys := map[string]bool{}
	var err error
	core := k.opts.Client.CoreV1()
	switch s.kind {
	case ofClaim:
		var claim *corev1.PersistentVolumeClaim
		claim, err = core.PersistentVolumeClaims(s.name.Namespace).Get(ctx, s.name.Name, metav1.GetOptions{})
		if err == nil {
			keys[lifecycle.ClaimBound] = claim.Status.Phase == corev1.ClaimBound
		}
	case ofSecret:
		var secret *corev1.Secret
		secret, err = core.Secrets(s.name.Namespace).Get(ctx, s.name.Name, metav1.GetOptions{})
		if err == nil {
			addKeys(keys, secret.Data)
		}
	default:
		var configMap *corev1.ConfigMap
		configMap, err = k.configMap(ctx, s.name)
		if err == nil {
			addKeys(keys, configMap.Data)
			addKeys(keys, configMap.BinaryData)
		}
	}
	if apierrors.IsNotFound(err) || isNotOurs(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", s.kind, s.name, err)
	}
	return keys, nil
}

// configMap returns a ConfigMap of the informer, as upstream's kubelet does, or one that the
// informer does not have yet. Every pod mounts one, with the certificate of the API server.
func (k *Kubelets) configMap(ctx context.Context, name types.NamespacedName) (*corev1.ConfigMap, error) {
	if known, err := k.configMapLister.ConfigMaps(name.Namespace).Get(name.Name); err == nil {
		return known, nil
	}
	return k.opts.Client.CoreV1().ConfigMaps(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
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
func (k *Kubelets) await(s supply, pod types.UID) error {
	k.supplies.mu.Lock()
	defer k.supplies.mu.Unlock()
	if k.supplies.waiting == nil {
		k.supplies.waiting = map[supply]map[types.UID]bool{}
		k.supplies.watching = map[string]bool{}
	}
	pods := k.supplies.waiting[s]
	if pods == nil {
		pods = map[types.UID]bool{}
		k.supplies.waiting[s] = pods
	}
	known := pods[pod]
	pods[pod] = true
	if k.supplies.watching[s.kind] {
		if !known {
			// The object may have been created between the read and now.
			k.loop.Add(podKey(string(pod)))
		}
		return nil
	}
	k.supplies.watching[s.kind] = true
	return k.watchSupplies(s.kind)
}

func (k *Kubelets) watchSupplies(kind string) error {
	if kind == ofBundle || kind == ofSigner {
		return k.watchBundles()
	}
	var informer cache.SharedIndexInformer
	switch kind {
	case ofClaim:
		informer = k.informers.PersistentVolumeClaims().Informer()
	case ofSecret:
		informer = k.informers.Secrets().Informer()
	case ofResourceClaim:
		informer = k.informers.ResourceClaims().Informer()
	default:
		informer = k.informers.ConfigMaps().Informer()
	}
	come := func(obj any) {
		if o, ok := obj.(metav1.Object); ok {
			k.supplied(supply{kind, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}})
		}
	}
	return k.handleSupplies(informer, come)
}

func (k *Kubelets) handleSupplies(informer cache.SharedIndexInformer, come func(obj any)) error {
	if err := k.handle(informer, come, func(any) {}); err != nil {
		return fmt.Errorf("watching what pods miss: %w", err)
	}
	k.informers.Start(k.ended)
	return nil
}

// supplied queues the pods that wait for an object.
func (k *Kubelets) supplied(s supply) {
	k.supplies.mu.Lock()
	pods := k.supplies.waiting[s]
	delete(k.supplies.waiting, s)
	k.supplies.mu.Unlock()
	for pod := range pods {
		k.loop.Add(podKey(string(pod)))
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
