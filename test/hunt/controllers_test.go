package hunt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
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

const (
	tracking  = "example.com/tracking"
	phase     = "phase"
	succeeded = "Succeeded"
)

// tracked runs a store's pods, all Secrets of the namespace, until as many have finished as it has replicas. A pod that has finished is counted by its finalizer, then
// by a list in the store, then by a number in the store. The mistake: a late view of the store has neither, when the finalizer is gone.
func tracked(ctx context.Context, k *kit, store *corev1.ConfigMap) (ctrl.Result, error) {
	pods := &corev1.SecretList{}
	if err := k.live.List(ctx, pods, client.InNamespace(store.Namespace)); err != nil {
		return ctrl.Result{}, err
	}
	uncounted, active := strings.Fields(store.Data["uncounted"]), 0
	var finished []*corev1.Secret
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch {
		case pod.Annotations[phase] != succeeded:
			active++
		case controllerutil.ContainsFinalizer(pod, tracking):
			finished = append(finished, pod)
			if !slices.Contains(uncounted, pod.Name) {
				uncounted = append(uncounted, pod.Name)
			}
		}
	}
	if number(store, "done")+len(uncounted)+active < number(store, "replicas") {
		now := &corev1.ConfigMap{}
		if err := k.live.Get(ctx, client.ObjectKeyFromObject(store), now); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		if k.repaired && now.ResourceVersion != store.ResourceVersion {
			return ctrl.Result{RequeueAfter: 5 * time.Second}, nil
		}
		return ctrl.Result{}, k.make(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: store.Namespace, Name: fmt.Sprintf("pod-%s-%d", store.Name, len(pods.Items)), Finalizers: []string{tracking},
		}})
	}
	if len(uncounted) == 0 {
		return ctrl.Result{}, nil
	}
	if list := strings.Join(uncounted, " "); store.Data["uncounted"] != list {
		store.Data["uncounted"] = list
		if err := k.Update(ctx, store); err != nil {
			return ctrl.Result{}, err
		}
	}
	for _, pod := range finished {
		if err := k.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		}
	}
	store.Data["done"], store.Data["uncounted"] = strconv.Itoa(number(store, "done")+len(uncounted)), ""
	return ctrl.Result{}, k.Update(ctx, store)
}

// finish is the step in which the pods finish.
var finish = step("finish", func(ctx context.Context, c *minikcmtest.Cluster) error {
	secrets := c.Client().CoreV1().Secrets(namespace)
	pods, err := secrets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		pods.Items[i].Annotations = map[string]string{phase: succeeded}
		if _, err := secrets.Update(ctx, &pods.Items[i], metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
})

// onePod is the user's condition that a pod that has finished is not run again.
func onePod(ctx context.Context, c *minikcmtest.Cluster) error {
	pods, err := c.Client().CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
	if err == nil && len(pods.Items) > 1 {
		err = fmt.Errorf("there are %d pods of 1", len(pods.Items))
	}
	return err
}

// collector deletes parts, Secrets, whose owners, ConfigMaps, are gone. A part names its owner and its UID in annotations.
type collector struct {
	*kit
	// owners are the names of the owners that were seen, by their UIDs and, if it is repaired, their namespaces; absent are those that do not exist.
	owners map[string]string
	absent map[string]bool
}

const ownerPrefix = "owner:"

// collect adds a collector. The mistake: an owner that was looked for in the wrong namespace, in that of a copy of its part, does not exist.
func collect(mgr ctrl.Manager, _ *minikcmtest.Cluster, repaired bool) error {
	c := &collector{&kit{mgr.GetClient(), mgr.GetAPIReader(), repaired}, map[string]string{}, map[string]bool{}}
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.Secret{}).Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		if o.GetLabels()["kind"] != "owner" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: ownerPrefix + o.GetName()}}}
	})).Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		if name, is := strings.CutPrefix(req.Name, ownerPrefix); is {
			return ctrl.Result{}, c.owner(ctx, types.NamespacedName{Namespace: req.Namespace, Name: name})
		}
		part := &corev1.Secret{}
		if err := c.Get(ctx, req.NamespacedName, part); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		return ctrl.Result{}, c.part(ctx, part)
	}))
}

// key identifies the owner of a part, or an owner.
func (c *collector) key(namespace, uid string) string {
	if c.repaired {
		return namespace + "/" + uid
	}
	return uid
}

func (c *collector) owner(ctx context.Context, name types.NamespacedName) error {
	owner := &corev1.ConfigMap{}
	err := c.Get(ctx, name, owner)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	for key, known := range c.owners {
		if known == name.String() && (err != nil || key != c.key(name.Namespace, string(owner.UID))) {
			delete(c.owners, key)
		}
	}
	if err == nil {
		c.owners[c.key(name.Namespace, string(owner.UID))] = name.String()
	}
	parts := &corev1.SecretList{}
	if err := c.List(ctx, parts, client.InNamespace(name.Namespace)); err != nil {
		return err
	}
	var errs []error
	for i := range parts.Items {
		errs = append(errs, c.part(ctx, &parts.Items[i]))
	}
	return errors.Join(errs...)
}

func (c *collector) part(ctx context.Context, part *corev1.Secret) error {
	name, uid := part.Annotations["owner"], part.Annotations["uid"]
	key := c.key(part.Namespace, uid)
	if _, known := c.owners[key]; known || uid == "" {
		return nil
	}
	if !c.absent[key] {
		owner := &corev1.ConfigMap{}
		err := c.live.Get(ctx, types.NamespacedName{Namespace: part.Namespace, Name: name}, owner)
		if client.IgnoreNotFound(err) != nil || err == nil && string(owner.UID) == uid {
			return err
		}
		c.absent[key] = true
	}
	return client.IgnoreNotFound(c.Delete(ctx, part, client.Preconditions{UID: &part.UID}))
}

// part is the step that creates a part of an owner, in a namespace.
func part(owner, in string) hunt.Step {
	return step(fmt.Sprintf("create a part of %s in %s", owner, in), func(ctx context.Context, c *minikcmtest.Cluster) error {
		o, err := c.Client().CoreV1().ConfigMaps(namespace).Get(ctx, owner, metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = c.Client().CoreV1().Secrets(in).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "part-of-" + owner, Annotations: map[string]string{"owner": owner, "uid": string(o.UID)}},
		}, metav1.CreateOptions{})
		return err
	})
}

// createNamespace is the step that creates a namespace.
func createNamespace(name string) hunt.Step {
	return step("create namespace "+name, func(ctx context.Context, c *minikcmtest.Cluster) error {
		_, err := c.Client().CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	})
}

// provisioner makes a claim, a Secret, for each task without a machine, and launches it a second later. It makes none while claims are known
// that are not launched.
type provisioner struct {
	*kit
	now func() time.Time

	mu         sync.Mutex
	unlaunched map[string]time.Time
}

// launched is the annotation of a claim that has a machine.
const launched = "launched"

// provision adds a provisioner. The mistake: a claim that is gone when the answer to its create comes is not launched for ever.
func provision(mgr ctrl.Manager, cluster *minikcmtest.Cluster, repaired bool) error {
	p := &provisioner{kit: &kit{mgr.GetClient(), mgr.GetAPIReader(), repaired}, now: cluster.Clock().Now, unlaunched: map[string]time.Time{}}
	if err := ctrl.NewControllerManagedBy(mgr).Named("lifecycle").For(&corev1.Secret{}).Complete(reconcile.Func(p.launch)); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("provisioner").For(&corev1.ConfigMap{}).Complete(reconcile.Func(p.claim))
}

func (p *provisioner) claim(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	task := &corev1.ConfigMap{}
	if err := p.Get(ctx, req.NamespacedName, task); err != nil || task.Labels["kind"] != "task" || task.Data["machine"] != "" {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	claim := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: task.Namespace, Name: "claim-" + task.Name, Annotations: map[string]string{"type": task.Data["type"]}}}
	if seen, err := p.sees(ctx, claim.DeepCopy()); err != nil || seen {
		return ctrl.Result{}, err
	}
	if wait, err := p.waits(ctx); err != nil || wait {
		return ctrl.Result{RequeueAfter: 5 * time.Second}, err
	}
	if err := p.make(ctx, claim); err != nil {
		return ctrl.Result{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unlaunched[claim.Name] = p.now()
	return ctrl.Result{RequeueAfter: 5 * time.Second}, nil
}

// waits reports whether claims are known that are not launched. The repair forgets those that are gone after a while.
func (p *provisioner) waits(ctx context.Context) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, since := range p.unlaunched {
		if !p.repaired || p.now().Sub(since) < 20*time.Second {
			continue
		}
		claim := &corev1.Secret{}
		err := p.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, claim)
		if client.IgnoreNotFound(err) != nil {
			return false, err
		}
		if err != nil || claim.Annotations[launched] != "" {
			delete(p.unlaunched, name)
		}
	}
	return len(p.unlaunched) > 0, nil
}

// launch gives a claim its machine, unless its type is not to be had.
func (p *provisioner) launch(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim := &corev1.Secret{}
	err := p.Get(ctx, req.NamespacedName, claim)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if err != nil || claim.Annotations[launched] != "" {
		p.mu.Lock()
		delete(p.unlaunched, req.Name)
		p.mu.Unlock()
	}
	name, is := strings.CutPrefix(req.Name, "claim-")
	if err != nil || !is {
		return ctrl.Result{}, nil
	}
	if left := time.Second - p.now().Sub(claim.CreationTimestamp.Time); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	task := &corev1.ConfigMap{}
	if err := p.live.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: name}, task); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	machine := req.Name
	if claim.Annotations["type"] == "scarce" {
		machine = "none"
	}
	if task.Data["machine"] != machine {
		task.Data["machine"] = machine
		if err := p.Update(ctx, task); err != nil {
			return ctrl.Result{}, err
		}
	}
	switch {
	case machine == "none":
		return ctrl.Result{}, client.IgnoreNotFound(p.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}))
	case claim.Annotations[launched] == "":
		claim.Annotations[launched] = "true"
		return ctrl.Result{}, p.Update(ctx, claim)
	}
	return ctrl.Result{}, nil
}
