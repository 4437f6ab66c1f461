package hunt

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"minikcm.dev/minikcm/hunt"
	"minikcm.dev/minikcm/minikcmtest"
)

// The operators of this file keep stores of data. A store is a ConfigMap with the number of its replicas, their storage and the image. Its
// volumes are Secrets, called data-NAME-NUMBER, and its set is a StatefulSet, called set-NAME, whose replicas stand for pods.

// kit is what an operator has.
type kit struct {
	client.Client
	live client.Reader // past the cache
	// repaired leaves the mistake out.
	repaired bool
}

// stores returns the setUp of an operator of stores that watches further kinds, whose objects are called PART-STORE or PART-STORE-NUMBER.
func stores(reconciled func(ctx context.Context, k *kit, store *corev1.ConfigMap) (ctrl.Result, error), further ...client.Object) func(ctrl.Manager, *minikcmtest.Cluster, bool) error {
	return func(mgr ctrl.Manager, _ *minikcmtest.Cluster, repaired bool) error {
		k := &kit{mgr.GetClient(), mgr.GetAPIReader(), repaired}
		b := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{})
		for _, kind := range further {
			b = b.Watches(kind, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
				parts := strings.Split(o.GetName(), "-")
				if len(parts) < 2 {
					return nil
				}
				return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: parts[1]}}}
			}))
		}
		return b.Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
			store := &corev1.ConfigMap{}
			if err := k.Get(ctx, req.NamespacedName, store); err != nil {
				return ctrl.Result{}, client.IgnoreNotFound(err)
			}
			if store.Labels["kind"] != "store" {
				return ctrl.Result{}, nil
			}
			return reconciled(ctx, k, store)
		}))
	}
}

func number(store *corev1.ConfigMap, field string) int {
	n, _ := strconv.Atoi(store.Data[field])
	return n
}

// mostReplicas is how many replicas a store has at most.
const mostReplicas = 3

func volumeOf(store *corev1.ConfigMap, i int) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: store.Namespace, Name: fmt.Sprintf("data-%s-%d", store.Name, i),
		Annotations: map[string]string{"uid": string(store.UID), "storage": store.Data["storage"]},
	}}
}

func setOf(store *corev1.ConfigMap) *appsv1.StatefulSet {
	labels, replicas := map[string]string{"store": store.Name}, int32(number(store, "replicas"))
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: store.Namespace, Name: "set-" + store.Name, Annotations: map[string]string{"uid": string(store.UID), "storage": store.Data["storage"]}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "db"}}}},
		},
	}
}

// make creates what does not exist yet.
func (k *kit) make(ctx context.Context, o client.Object) error {
	err := k.Create(ctx, o)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// sees reads an object from the cache, and reports whether it is there.
func (k *kit) sees(ctx context.Context, o client.Object) (bool, error) {
	err := k.Get(ctx, client.ObjectKeyFromObject(o), o)
	return err == nil, client.IgnoreNotFound(err)
}

// makeVolumes creates the volumes that the cache lacks.
func (k *kit) makeVolumes(ctx context.Context, store *corev1.ConfigMap) error {
	for i := range number(store, "replicas") {
		v := volumeOf(store, i)
		if seen, err := k.sees(ctx, v.DeepCopy()); err != nil || seen {
			if err != nil {
				return err
			}
			continue
		}
		if err := k.make(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// run notes the image that the store runs.
func (k *kit) run(ctx context.Context, store *corev1.ConfigMap) error {
	if store.Data["runs"] == store.Data["image"] {
		return nil
	}
	store.Data["runs"] = store.Data["image"]
	return k.Update(ctx, store)
}

const finalizer = "example.com/volumes"

// begin adds the finalizer.
func (k *kit) begin(ctx context.Context, store *corev1.ConfigMap) error {
	if !controllerutil.AddFinalizer(store, finalizer) {
		return nil
	}
	return k.Update(ctx, store)
}

// end removes the finalizer.
func (k *kit) end(ctx context.Context, store *corev1.ConfigMap) (ctrl.Result, error) {
	if !controllerutil.RemoveFinalizer(store, finalizer) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(k.Update(ctx, store))
}

// byName deletes the volumes of a store that is deleted. The mistake: their names are an earlier store's, too, of which an old view says that it
// is being deleted.
func byName(ctx context.Context, k *kit, store *corev1.ConfigMap) (ctrl.Result, error) {
	if store.DeletionTimestamp == nil {
		if err := k.begin(ctx, store); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, errors.Join(k.makeVolumes(ctx, store), k.run(ctx, store))
	}
	for i := range mostReplicas {
		v := volumeOf(store, i)
		seen, err := k.sees(ctx, v)
		if err != nil {
			return ctrl.Result{}, err
		}
		if !seen || k.repaired && v.Annotations["uid"] != string(store.UID) {
			continue
		}
		if err := client.IgnoreNotFound(k.Delete(ctx, v)); err != nil {
			return ctrl.Result{}, err
		}
	}
	return k.end(ctx, store)
}

// scaled deletes the volumes beyond the replicas. The mistake: an old view has fewer replicas.
func scaled(ctx context.Context, k *kit, store *corev1.ConfigMap) (ctrl.Result, error) {
	for i := number(store, "replicas"); i < mostReplicas; i++ {
		v := volumeOf(store, i)
		if seen, err := k.sees(ctx, v); err != nil || !seen {
			if err != nil {
				return ctrl.Result{}, err
			}
			continue
		}
		if k.repaired {
			now := &corev1.ConfigMap{}
			if err := k.live.Get(ctx, client.ObjectKeyFromObject(store), now); err != nil || number(now, "replicas") > i {
				return ctrl.Result{RequeueAfter: 5 * time.Second}, client.IgnoreNotFound(err)
			}
		}
		if err := client.IgnoreNotFound(k.Delete(ctx, v)); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, errors.Join(k.makeVolumes(ctx, store), k.run(ctx, store))
}

// setByName deletes the set of a store that is deleted, as byName does with volumes.
func setByName(ctx context.Context, k *kit, store *corev1.ConfigMap) (ctrl.Result, error) {
	if store.DeletionTimestamp == nil {
		if err := k.begin(ctx, store); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, errors.Join(k.make(ctx, setOf(store)), k.run(ctx, store))
	}
	set := setOf(store)
	seen, err := k.sees(ctx, set)
	if err != nil {
		return ctrl.Result{}, err
	}
	if seen && (!k.repaired || set.Annotations["uid"] == string(store.UID)) {
		if err := client.IgnoreNotFound(k.Delete(ctx, set)); err != nil {
			return ctrl.Result{}, err
		}
	}
	return k.end(ctx, store)
}

// resized creates the set anew for another storage. The mistake: an old view has less storage, which no user can ask for.
func resized(ctx context.Context, k *kit, store *corev1.ConfigMap) (ctrl.Result, error) {
	set := setOf(store)
	seen, err := k.sees(ctx, set)
	if err != nil {
		return ctrl.Result{}, err
	}
	now, _ := strconv.Atoi(set.Annotations["storage"])
	wanted := number(store, "storage")
	switch {
	case !seen:
		return ctrl.Result{}, errors.Join(k.make(ctx, set), k.run(ctx, store))
	case wanted > now, wanted < now && !k.repaired:
		var this []client.DeleteOption
		if k.repaired { // an old view of the set has another one's name
			this = append(this, client.Preconditions{UID: &set.UID})
		}
		if err := client.IgnoreNotFound(k.Delete(ctx, set, this...)); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	return ctrl.Result{}, k.run(ctx, store)
}

// expanded deletes the set, expands the volume, and creates the set anew. The mistake: what is left to do after a crash is decided by the set.
func expanded(ctx context.Context, k *kit, store *corev1.ConfigMap) (ctrl.Result, error) {
	if err := k.makeVolumes(ctx, store); err != nil {
		return ctrl.Result{}, err
	}
	set := setOf(store)
	seen, err := k.sees(ctx, set)
	if err != nil {
		return ctrl.Result{}, err
	}
	outdated := seen && set.Annotations["storage"] != store.Data["storage"]
	if outdated {
		if err := client.IgnoreNotFound(k.Delete(ctx, set)); err != nil {
			return ctrl.Result{}, err
		}
	}
	if outdated || k.repaired {
		v := volumeOf(store, 0)
		if has, err := k.sees(ctx, v); err != nil {
			return ctrl.Result{}, err
		} else if has && v.Annotations["storage"] != store.Data["storage"] {
			v.Annotations["storage"] = store.Data["storage"]
			if err := k.Update(ctx, v); err != nil {
				return ctrl.Result{}, err
			}
		}
	}
	return ctrl.Result{}, k.make(ctx, setOf(store))
}

// decommissioned removes a pod, and then its volume, and keeps in the store how far it is. The mistake: the pod goes before that is noted, and
// that it is gone is an error then.
func decommissioned(ctx context.Context, k *kit, store *corev1.ConfigMap) (ctrl.Result, error) {
	set := setOf(store)
	if seen, err := k.sees(ctx, set); err != nil || !seen {
		return ctrl.Result{}, errors.Join(err, k.makeVolumes(ctx, store), k.make(ctx, setOf(store)))
	}
	pods, wanted := int(*set.Spec.Replicas), number(store, "replicas")
	switch store.Data["operation"] {
	case "":
		if pods <= wanted {
			return ctrl.Result{}, k.makeVolumes(ctx, store)
		}
		store.Data["operation"] = "ongoing"
		return ctrl.Result{}, k.Update(ctx, store)
	case "ongoing":
		if pods <= wanted && !k.repaired {
			return ctrl.Result{}, fmt.Errorf("pod %d of %s is not found", wanted, store.Name)
		}
		store.Data["operation"] = "finalizing"
		if pods > wanted {
			*set.Spec.Replicas = int32(wanted)
			if err := k.Update(ctx, set); err != nil {
				return ctrl.Result{}, err
			}
		}
		return ctrl.Result{}, k.Update(ctx, store)
	}
	if pods > wanted {
		return ctrl.Result{}, nil // the set's event comes
	}
	if err := client.IgnoreNotFound(k.Delete(ctx, volumeOf(store, wanted))); err != nil {
		return ctrl.Result{}, err
	}
	store.Data["operation"] = ""
	return ctrl.Result{}, k.Update(ctx, store)
}

// counted creates pods until the cache has enough, and deletes those that are too many. The mistake: the cache is late, and their names are the
// server's.
func counted(ctx context.Context, k *kit, store *corev1.ConfigMap) (ctrl.Result, error) {
	have := &corev1.PodList{}
	if err := k.List(ctx, have, client.InNamespace(store.Namespace)); err != nil {
		return ctrl.Result{}, err
	}
	wanted := number(store, "replicas")
	for i := len(have.Items); i < wanted; i++ {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: store.Namespace, GenerateName: "pod-" + store.Name + "-"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "ray", Image: "ray"}}}}
		if k.repaired {
			pod.GenerateName, pod.Name = "", fmt.Sprintf("pod-%s-%d", store.Name, i)
		}
		if err := k.make(ctx, pod); err != nil {
			return ctrl.Result{}, err
		}
	}
	for i := wanted; i < len(have.Items); i++ {
		if err := client.IgnoreNotFound(k.Delete(ctx, &have.Items[i])); err != nil {
			return ctrl.Result{}, err
		}
	}
	if len(have.Items) != wanted {
		return ctrl.Result{RequeueAfter: 5 * time.Second}, nil
	}
	return ctrl.Result{}, nil
}

// fewPods is the user's condition that a store never has more pods than replicas.
func fewPods(ctx context.Context, c *minikcmtest.Cluster) error {
	pods, err := c.Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err == nil && len(pods.Items) > 2 {
		err = fmt.Errorf("there are %d pods of 2", len(pods.Items))
	}
	return err
}

// templated makes one set for the store's image, by a name of the server's. The mistake: when the cache is late for longer than it waits, it
// makes another one.
func templated(ctx context.Context, k *kit, store *corev1.ConfigMap) (ctrl.Result, error) {
	sets := &corev1.SecretList{}
	if err := k.List(ctx, sets, client.InNamespace(store.Namespace)); err != nil {
		return ctrl.Result{}, err
	}
	found := false
	for i := range sets.Items {
		if set := &sets.Items[i]; set.Annotations["image"] == store.Data["image"] {
			found = true
		} else if err := client.IgnoreNotFound(k.Delete(ctx, set)); err != nil {
			return ctrl.Result{}, err
		}
	}
	if found {
		return ctrl.Result{}, nil
	}
	set := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: store.Namespace, GenerateName: "set-" + store.Name + "-", Annotations: map[string]string{"image": store.Data["image"]}}}
	if k.repaired {
		set.GenerateName, set.Name = "", "set-"+store.Name+"-"+store.Data["image"]
	}
	return ctrl.Result{RequeueAfter: 2 * time.Second}, k.make(ctx, set)
}

// writeData notes which volume, or set, of which store has the users' data.
func writeData(read func(ctx context.Context, c *minikcmtest.Cluster) (client.Object, error)) hunt.Step {
	return step("write data", func(ctx context.Context, c *minikcmtest.Cluster) error {
		store, err := c.Client().CoreV1().ConfigMaps(namespace).Get(ctx, "db", metav1.GetOptions{})
		if err != nil {
			return err
		}
		o, err := read(ctx, c)
		if err != nil {
			return err
		}
		_, err = c.Client().CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "data"}, Data: map[string]string{"uid": string(store.UID) + " " + string(o.GetUID())},
		}, metav1.CreateOptions{})
		return err
	})
}

// dataIsThere is the user's condition that the volume, or set, with the data is there as long as its store is.
func dataIsThere(read func(ctx context.Context, c *minikcmtest.Cluster) (client.Object, error)) func(ctx context.Context, c *minikcmtest.Cluster) error {
	return func(ctx context.Context, c *minikcmtest.Cluster) error {
		data, err := c.Client().CoreV1().ConfigMaps(namespace).Get(ctx, "data", metav1.GetOptions{})
		if err != nil {
			return err
		}
		storeUID, uid, _ := strings.Cut(data.Data["uid"], " ")
		if store, err := c.Client().CoreV1().ConfigMaps(namespace).Get(ctx, "db", metav1.GetOptions{}); err != nil || string(store.UID) != storeUID {
			return client.IgnoreNotFound(err) // a user has deleted it
		}
		o, err := read(ctx, c)
		if err == nil && string(o.GetUID()) != uid {
			err = errors.New("the data of the store is gone")
		}
		return err
	}
}

func readVolume(name string) func(ctx context.Context, c *minikcmtest.Cluster) (client.Object, error) {
	return func(ctx context.Context, c *minikcmtest.Cluster) (client.Object, error) {
		return c.Client().CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	}
}

func readSet(ctx context.Context, c *minikcmtest.Cluster) (client.Object, error) {
	return c.Client().AppsV1().StatefulSets(namespace).Get(ctx, "set-db", metav1.GetOptions{})
}

// store is the step that creates the store db.
func store(replicas, storage string) hunt.Step {
	return object("store", "db", map[string]string{"replicas": replicas, "storage": storage, "image": "1"})
}
