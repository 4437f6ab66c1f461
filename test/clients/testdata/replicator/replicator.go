// Package replicator is an operator that is built against many versions of controller-runtime.
// For a ConfigMap with the label replicator, it keeps a Deployment and counts the replicas that
// are available; a finalizer says goodbye.
package replicator

import (
	"context"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	label     = "replicator"
	finalizer = "clients.example.com/goodbye"
)

type reconciler struct{ client.Client }

func (r *reconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Owns(&appsv1.Deployment{}).Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, rq ctrl.Request) (ctrl.Result, error) {
	config := &corev1.ConfigMap{}
	if err := r.Get(ctx, rq.NamespacedName, config); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if _, ours := config.Labels[label]; !ours {
		return ctrl.Result{}, nil
	}
	if !config.DeletionTimestamp.IsZero() {
		goodbye := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "goodbye-" + config.Name}}
		if err := r.Create(ctx, goodbye); client.IgnoreAlreadyExists(err) != nil {
			return ctrl.Result{}, err
		}
		if controllerutil.RemoveFinalizer(config, finalizer) {
			return ctrl.Result{}, r.Update(ctx, config)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(config, finalizer) {
		return ctrl.Result{}, r.Update(ctx, config)
	}
	replicas, err := strconv.ParseInt(config.Data["replicas"], 10, 32)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("replicas: %w", err)
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.Name}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		labels, wanted := map[string]string{"app": config.Name}, int32(replicas)
		deployment.Spec.Replicas = &wanted
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "nginx"}}
		}
		return controllerutil.SetControllerReference(config, deployment, r.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	available := strconv.Itoa(int(deployment.Status.AvailableReplicas))
	if config.Data["available"] == available {
		return ctrl.Result{}, nil
	}
	patch := client.MergeFrom(config.DeepCopy())
	config.Data["available"] = available
	return ctrl.Result{}, r.Patch(ctx, config, patch)
}
