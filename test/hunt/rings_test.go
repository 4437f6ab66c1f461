package hunt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"minikcm.dev/minikcm/hunt"
	"minikcm.dev/minikcm/minikcmtest"
)

// withPods are clusters in which StatefulSets have pods that run.
var withPods = hunt.WithCluster(minikcmtest.WithNodes(1), minikcmtest.WithControllers("garbage-collector-controller", "serviceaccount-controller", "statefulset-controller", "root-ca-certificate-publisher-controller"))

// drained scales the set, and deletes the volumes of pods that are gone. The mistake: it looks for pods that are being deleted, which it may
// not see, and of which an old view says so.
func drained(ctx context.Context, k *kit, store *corev1.ConfigMap) (ctrl.Result, error) {
	set, wanted := setOf(store), number(store, "replicas")
	if seen, err := k.sees(ctx, set); err != nil || !seen {
		return ctrl.Result{}, errors.Join(err, k.makeVolumes(ctx, store), k.make(ctx, setOf(store)))
	}
	if int(*set.Spec.Replicas) != wanted {
		*set.Spec.Replicas = int32(wanted)
		if err := k.Update(ctx, set); err != nil {
			return ctrl.Result{}, err
		}
	}
	var result ctrl.Result
	for i := range mostReplicas {
		v := volumeOf(store, i)
		if seen, err := k.sees(ctx, v); err != nil || !seen {
			if err != nil {
				return ctrl.Result{}, err
			}
			continue
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: store.Namespace, Name: fmt.Sprintf("set-%s-%d", store.Name, i)}}
		var goes bool
		var err error
		if k.repaired {
			goes, err = k.isDrained(ctx, store, pod, i)
			if i >= wanted && !goes {
				result.RequeueAfter = 5 * time.Second
			}
		} else {
			goes, err = k.sees(ctx, pod)
			goes = goes && pod.DeletionTimestamp != nil
		}
		if err != nil {
			return ctrl.Result{}, err
		}
		if !goes {
			continue
		}
		if err := client.IgnoreNotFound(k.Delete(ctx, v, client.Preconditions{UID: &v.UID})); err != nil {
			return ctrl.Result{}, err
		}
	}
	return result, errors.Join(k.makeVolumes(ctx, store), k.run(ctx, store))
}

// isDrained reports whether a pod is not wanted and gone, past the cache.
func (k *kit) isDrained(ctx context.Context, store *corev1.ConfigMap, pod *corev1.Pod, i int) (bool, error) {
	now := &corev1.ConfigMap{}
	if err := k.live.Get(ctx, client.ObjectKeyFromObject(store), now); err != nil || number(now, "replicas") > i {
		return false, client.IgnoreNotFound(err)
	}
	err := k.live.Get(ctx, client.ObjectKeyFromObject(pod), pod)
	return err != nil && client.IgnoreNotFound(err) == nil, client.IgnoreNotFound(err)
}

const (
	// leaving is the label of a node of a ring that is being decommissioned, which takes leaveTime, and the annotation with its begin.
	leaving   = "leaving"
	leaveTime = 45 * time.Second
)

// ring has as many nodes as its App has replicas: Secrets. A node that goes is decommissioned, and deleted when that is over. The mistake: it
// looks at such a node only as long as there are too many nodes.
func ring(mgr ctrl.Manager, cluster *minikcmtest.Cluster, repaired bool) error {
	k := &kit{Client: mgr.GetClient()}
	now := cluster.Clock().Now
	return ctrl.NewControllerManagedBy(mgr).For(newApp()).Owns(&corev1.Secret{}).Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		app, nodes := newApp(), &corev1.SecretList{}
		if err := k.Get(ctx, req.NamespacedName, app); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		if err := k.List(ctx, nodes, client.InNamespace(req.Namespace)); err != nil {
			return ctrl.Result{}, err
		}
		replicas, _, _ := unstructured.NestedInt64(app.Object, "spec", "replicas")
		have := int64(len(nodes.Items))
		goes := slices.IndexFunc(nodes.Items, func(n corev1.Secret) bool { return n.Labels[leaving] != "" })
		switch {
		case goes >= 0 && (repaired || have > replicas):
			since, _ := time.Parse(time.RFC3339, nodes.Items[goes].Annotations[leaving])
			if left := leaveTime - now().Sub(since); left > 0 {
				return ctrl.Result{RequeueAfter: left}, nil
			}
			return ctrl.Result{}, client.IgnoreNotFound(k.Delete(ctx, &nodes.Items[goes]))
		case have < replicas:
			node := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: fmt.Sprintf("node-%s-%d", req.Name, have)}}
			if err := controllerutil.SetControllerReference(app, node, k.Scheme()); err != nil {
				return ctrl.Result{}, err
			}
			return ctrl.Result{RequeueAfter: time.Second}, k.make(ctx, node)
		case have > replicas:
			node := &nodes.Items[have-1]
			node.Labels = map[string]string{leaving: "true"}
			node.Annotations = map[string]string{leaving: now().UTC().Format(time.RFC3339)}
			return ctrl.Result{RequeueAfter: leaveTime}, k.Update(ctx, node)
		}
		return ctrl.Result{}, nil
	}))
}
