package hunt_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"minikcm.dev/minikcm/hunt"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/minikcmtest/ctrltest"
)

// shop is a ConfigMap whose tills are Secrets.
func shop(name string, tills int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"kind": "shop"}},
		Data:       map[string]string{"tills": strconv.Itoa(tills)},
	}
}

// reconciling reconciles a shop, which is nil if it is gone.
type reconciling func(ctx context.Context, k client.Client, s *corev1.ConfigMap, req ctrl.Request) (ctrl.Result, error)

// setUp adds the operator to a manager.
func (r reconciling) setUp(mgr ctrl.Manager) error {
	k := mgr.GetClient()
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).Complete(reconcile.Func(
		func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
			s := &corev1.ConfigMap{}
			if err := k.Get(ctx, req.NamespacedName, s); apierrors.IsNotFound(err) {
				s = nil
			} else if err != nil || s.Labels["kind"] != "shop" {
				return ctrl.Result{}, err
			}
			return r(ctx, k, s, req)
		}))
}

// operatorOf returns an operator of shops with a reconcile.
func operatorOf(reconciled reconciling) hunt.Operator {
	return hunt.Operator{Start: func(t testing.TB, cluster *minikcmtest.Cluster) func() error {
		mgr := ctrltest.NewManager(t, cluster, ctrl.Options{})
		if err := reconciled.setUp(mgr); err != nil {
			t.Fatal(err)
		}
		return ctrltest.Start(t, mgr)
	}}
}

// sound is an operator without a bug: it makes what is missing by names that follow from the shop's.
var sound = operatorOf(reconcileSound)

func reconcileSound(ctx context.Context, k client.Client, s *corev1.ConfigMap, _ ctrl.Request) (ctrl.Result, error) {
	if s == nil || s.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	tills, _ := strconv.Atoi(s.Data["tills"])
	for i := range tills {
		till := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: fmt.Sprintf("%s-%d", s.Name, i)}}
		if err := controllerutil.SetControllerReference(s, till, k.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		if err := k.Create(ctx, till); err != nil && !apierrors.IsAlreadyExists(err) {
			return ctrl.Result{}, err
		}
	}
	if s.Data["open"] == s.Data["tills"] {
		return ctrl.Result{}, nil
	}
	s.Data["open"] = s.Data["tills"]
	return ctrl.Result{}, k.Update(ctx, s)
}

// forgetful creates a till by a generated name, and notes the name in a second write.
var forgetful = operatorOf(func(ctx context.Context, k client.Client, s *corev1.ConfigMap, _ ctrl.Request) (ctrl.Result, error) {
	if s == nil || s.Data["till"] != "" {
		return ctrl.Result{}, nil
	}
	till := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, GenerateName: s.Name + "-"}}
	if err := controllerutil.SetControllerReference(s, till, k.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	if err := k.Create(ctx, till); err != nil {
		return ctrl.Result{}, err
	}
	s.Data["till"] = till.Name
	return ctrl.Result{}, k.Update(ctx, s)
})

// counting creates tills by generated names until its cache has enough of them.
var counting = operatorOf(func(ctx context.Context, k client.Client, s *corev1.ConfigMap, _ ctrl.Request) (ctrl.Result, error) {
	if s == nil {
		return ctrl.Result{}, nil
	}
	have := &corev1.SecretList{}
	if err := k.List(ctx, have, client.InNamespace(s.Namespace), client.MatchingLabels{"shop": s.Name}); err != nil {
		return ctrl.Result{}, err
	}
	if tills, _ := strconv.Atoi(s.Data["tills"]); len(have.Items) >= tills {
		return ctrl.Result{}, nil
	}
	till := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, GenerateName: s.Name + "-", Labels: map[string]string{"shop": s.Name}}}
	if err := controllerutil.SetControllerReference(s, till, k.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: 20 * time.Second}, k.Create(ctx, till)
})

// edged deletes the till of a shop when it sees that the shop is gone, which it sees once.
var edged = operatorOf(reconcileEdged)

func reconcileEdged(ctx context.Context, k client.Client, s *corev1.ConfigMap, req ctrl.Request) (ctrl.Result, error) {
	till := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: "till-of-" + req.Name}}
	if s == nil {
		return ctrl.Result{}, client.IgnoreNotFound(k.Delete(ctx, till))
	}
	err := k.Create(ctx, till)
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	return ctrl.Result{}, err
}

// reconcileRestless counts its reconciles in the shop, each of which leads to the next.
func reconcileRestless(ctx context.Context, k client.Client, s *corev1.ConfigMap, _ ctrl.Request) (ctrl.Result, error) {
	if s == nil {
		return ctrl.Result{}, nil
	}
	turns, _ := strconv.Atoi(s.Data["turns"])
	s.Data["turns"] = strconv.Itoa(turns + 1)
	return ctrl.Result{RequeueAfter: 5 * time.Second}, k.Update(ctx, s)
}

// unowning creates the till of a shop once it sees the shop, and does not look when the till goes.
var unowning = operatorOf(func(ctx context.Context, k client.Client, s *corev1.ConfigMap, _ ctrl.Request) (ctrl.Result, error) {
	if s == nil {
		return ctrl.Result{}, nil
	}
	till := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}
	if err := controllerutil.SetOwnerReference(s, till, k.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	err := k.Create(ctx, till)
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	return ctrl.Result{}, err
})

// sweeping deletes all ConfigMaps that are no shops when it could not create a till.
var sweeping = operatorOf(func(ctx context.Context, k client.Client, s *corev1.ConfigMap, req ctrl.Request) (ctrl.Result, error) {
	_, err := reconcileEdged(ctx, k, s, req)
	if err == nil || s == nil {
		return ctrl.Result{}, err
	}
	all := &corev1.ConfigMapList{}
	if err := k.List(ctx, all, client.InNamespace(req.Namespace)); err != nil {
		return ctrl.Result{}, err
	}
	for i := range all.Items {
		if m := &all.Items[i]; m.Labels["kind"] == "notes" {
			if err := k.Delete(ctx, m); err != nil {
				return ctrl.Result{}, err
			}
		}
	}
	return ctrl.Result{}, err
})

// stubborn notes that it has created a till before it does so, and from then on only changes it.
var stubborn = operatorOf(func(ctx context.Context, k client.Client, s *corev1.ConfigMap, _ ctrl.Request) (ctrl.Result, error) {
	if s == nil {
		return ctrl.Result{}, nil
	}
	till := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}, StringData: map[string]string{"tills": s.Data["tills"]}}
	if s.Data["till"] != "" {
		return ctrl.Result{}, k.Update(ctx, till)
	}
	s.Data["till"] = till.Name
	if err := k.Update(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, k.Create(ctx, till)
})

// swinging turns the lamp of a till on while it works at it. A till whose lamp it finds on flickers.
var swinging = operatorOf(func(ctx context.Context, k client.Client, s *corev1.ConfigMap, _ ctrl.Request) (ctrl.Result, error) {
	if s == nil {
		return ctrl.Result{}, nil
	}
	till := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "till"}, StringData: map[string]string{"lamp": "on"}}
	if err := k.Create(ctx, till); err == nil {
		till.Data = nil
		return ctrl.Result{}, k.Update(ctx, till)
	} else if !apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, err
	}
	if err := k.Get(ctx, client.ObjectKeyFromObject(till), till); err != nil || till.Data["lamp"] == nil {
		return ctrl.Result{}, err
	}
	if till.Labels["flickers"] == "" {
		till.Labels = map[string]string{"flickers": "yes"}
	} else {
		till.Labels = nil
	}
	return ctrl.Result{RequeueAfter: 5 * time.Second}, k.Update(ctx, till)
})

// resigned creates the till of a shop, and notes that it gives up when that is refused.
var resigned = operatorOf(func(ctx context.Context, k client.Client, s *corev1.ConfigMap, _ ctrl.Request) (ctrl.Result, error) {
	if s == nil || s.Data["failed"] != "" {
		return ctrl.Result{}, nil
	}
	err := k.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}})
	if apierrors.IsForbidden(err) {
		s.Data["failed"] = "yes"
		return ctrl.Result{}, k.Update(ctx, s)
	}
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	return ctrl.Result{}, err
})

// counted creates a Secret each time that it looks at a shop.
var counted = operatorOf(func(ctx context.Context, k client.Client, s *corev1.ConfigMap, _ ctrl.Request) (ctrl.Result, error) {
	if s == nil {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, k.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, GenerateName: "visit-"}})
})

// hosting has a Deployment for a shop, and notes whether it is ready. shutting closes a shop for good that was ready, and is not.
var (
	hosting  = hostOf(false)
	shutting = hostOf(true)
)

func hostOf(shuts bool) hunt.Operator {
	return hunt.Operator{Start: func(t testing.TB, cluster *minikcmtest.Cluster) func() error {
		mgr := ctrltest.NewManager(t, cluster, ctrl.Options{})
		k := mgr.GetClient()
		if err := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Owns(&appsv1.Deployment{}).Complete(reconcile.Func(
			func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
				s := &corev1.ConfigMap{}
				if err := k.Get(ctx, req.NamespacedName, s); err != nil || s.Labels["kind"] != "shop" {
					return ctrl.Result{}, client.IgnoreNotFound(err)
				}
				return ctrl.Result{}, host(ctx, k, s, shuts)
			})); err != nil {
			t.Fatal(err)
		}
		return ctrltest.Start(t, mgr)
	}}
}

func host(ctx context.Context, k client.Client, s *corev1.ConfigMap, shuts bool) error {
	tills, _ := strconv.Atoi(s.Data["tills"])
	d := deployment(s.Namespace, s.Name)
	if _, err := controllerutil.CreateOrUpdate(ctx, k, d, func() error {
		d.Spec.Replicas = new(int32)
		*d.Spec.Replicas = int32(tills)
		return controllerutil.SetControllerReference(s, d, k.Scheme())
	}); err != nil {
		return err
	}
	open := strconv.FormatBool(d.Status.ReadyReplicas == int32(tills))
	if s.Data["open"] == open {
		return nil
	}
	if s.Data["open"] == "true" && shuts {
		s.Data["closed"] = "yes"
	}
	s.Data["open"] = open
	return k.Update(ctx, s)
}

// deployment returns a Deployment of one pod.
func deployment(namespace, name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
		}},
	}
}

// trusting reads the owner of a till that exists already, without looking whether it has one. brooding waits for a till that nothing
// creates, once it has noted that it is there.
var (
	trusting = operatorOf(func(ctx context.Context, k client.Client, s *corev1.ConfigMap, _ ctrl.Request) (ctrl.Result, error) {
		if s == nil {
			return ctrl.Result{}, nil
		}
		till := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}
		err := k.Create(ctx, till)
		if apierrors.IsAlreadyExists(err) {
			till.Labels = map[string]string{"of": till.OwnerReferences[0].Name}
			return ctrl.Result{}, k.Update(ctx, till)
		}
		return ctrl.Result{}, err
	})
	brooding = operatorOf(func(ctx context.Context, k client.Client, s *corev1.ConfigMap, _ ctrl.Request) (ctrl.Result, error) {
		if s == nil {
			return ctrl.Result{}, nil
		}
		till := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}
		if s.Data["till"] == "" {
			s.Data["till"] = till.Name
			if err := k.Update(ctx, s); err != nil {
				return ctrl.Result{}, err
			}
			return ctrl.Result{}, k.Create(ctx, till)
		}
		return ctrl.Result{}, k.Get(ctx, client.ObjectKeyFromObject(till), till)
	})
)

// desperate creates a Deployment when it cannot create a till.
var desperate = operatorOf(func(ctx context.Context, k client.Client, s *corev1.ConfigMap, _ ctrl.Request) (ctrl.Result, error) {
	if s == nil {
		return ctrl.Result{}, nil
	}
	err := k.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}})
	if err == nil || apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, errors.Join(err, k.Create(ctx, deployment(s.Namespace, "help")))
})

func create(objects ...client.Object) hunt.Step {
	return hunt.Step{Name: "create " + objects[0].GetName(), Do: func(ctx context.Context, c *minikcmtest.Cluster) error {
		for _, o := range objects {
			if _, err := c.Client().CoreV1().ConfigMaps(o.GetNamespace()).Create(ctx, o.(*corev1.ConfigMap), metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		return nil
	}}
}

func remove(name string) hunt.Step {
	return hunt.Step{Name: "delete " + name, Do: func(ctx context.Context, c *minikcmtest.Cluster) error {
		return c.Client().CoreV1().ConfigMaps("default").Delete(ctx, name, metav1.DeleteOptions{})
	}}
}
