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

	"minikcm.dev/minikcm/kubeletsim/lifecycle"
)

// supplies wakes pods when a ConfigMap or Secret that they miss appears. Nothing is watched
// before a pod misses something.
type supplies struct {
	mu       sync.Mutex
	waiting  map[supply]map[types.UID]bool
	watching map[bool]bool // by supply.secret
}

// supply is a ConfigMap or Secret.
type supply struct {
	secret bool
	name   types.NamespacedName
}

// missing returns the pod's needs that do not exist. The pod is synced when one of these
// objects changes.
func (k *Kubelets) missing(ctx context.Context, pod *corev1.Pod) ([]lifecycle.Need, error) {
	needs := lifecycle.Needs(pod)
	if len(needs) == 0 {
		return nil, nil
	}
	keys := map[supply]map[string]bool{}
	var missing []lifecycle.Need
	for _, n := range needs {
		s := supply{n.Secret, types.NamespacedName{Namespace: pod.Namespace, Name: n.Name}}
		got, looked := keys[s]
		if !looked {
			var err error
			if got, err = k.keysOf(ctx, s); err != nil {
				return nil, err
			}
			keys[s] = got
		}
		n.Found = got != nil
		if n.Found && (n.Key == "" || got[n.Key]) {
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
	if s.secret {
		var secret *corev1.Secret
		secret, err = k.opts.Client.CoreV1().Secrets(s.name.Namespace).Get(ctx, s.name.Name, metav1.GetOptions{})
		if err == nil {
			addKeys(keys, secret.Data)
		}
	} else {
		var configMap *corev1.ConfigMap
		configMap, err = k.opts.Client.CoreV1().ConfigMaps(s.name.Namespace).Get(ctx, s.name.Name, metav1.GetOptions{})
		if err == nil {
			addKeys(keys, configMap.Data)
			addKeys(keys, configMap.BinaryData)
		}
	}
	if apierrors.IsNotFound(err) || isNotOurs(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", lifecycle.Need{Secret: s.secret}.Kind(), s.name, err)
	}
	return keys, nil
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
		k.supplies.watching = map[bool]bool{}
	}
	pods := k.supplies.waiting[s]
	if pods == nil {
		pods = map[types.UID]bool{}
		k.supplies.waiting[s] = pods
	}
	known := pods[pod]
	pods[pod] = true
	if k.supplies.watching[s.secret] {
		if !known {
			// The object may have been created between the read and now.
			k.loop.Add(podKey(string(pod)))
		}
		return nil
	}
	k.supplies.watching[s.secret] = true
	return k.watchSupplies(s.secret)
}

func (k *Kubelets) watchSupplies(secrets bool) error {
	var informer cache.SharedIndexInformer
	if secrets {
		informer = k.factory.Core().V1().Secrets().Informer()
	} else {
		informer = k.factory.Core().V1().ConfigMaps().Informer()
	}
	come := func(obj any) {
		if o, ok := obj.(metav1.Object); ok {
			k.supplied(supply{secrets, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}})
		}
	}
	if err := k.handle(informer, come, func(any) {}); err != nil {
		return fmt.Errorf("watching what pods miss: %w", err)
	}
	k.factory.Start(k.ended)
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
