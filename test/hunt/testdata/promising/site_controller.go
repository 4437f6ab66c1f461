package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	webv1 "minikcm.dev/minikcm/test/hunt/project/api/v1"
)

// SiteReconciler reconciles a Site: its Deployment, and a Secret with the password of its administrator.
type SiteReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// SetupWithManager adds the controller to a manager.
func (r *SiteReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&webv1.Site{}).Owns(&appsv1.Deployment{}).Owns(&corev1.Secret{}).Complete(r)
}

const finalizer = "web.example.com/credentials"

// Reconcile brings a site to the state that its user wants.
func (r *SiteReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	site := &webv1.Site{}
	if err := r.Get(ctx, req.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !site.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finish(ctx, site)
	}
	if controllerutil.AddFinalizer(site, finalizer) {
		if err := r.Update(ctx, site); err != nil {
			return ctrl.Result{}, err
		}
	}
	if site.Status.Credentials == "" { // a crash between this write and the next one leaves a name that no Secret has
		site.Status.Credentials = site.Name + "-credentials"
		if err := r.Status().Update(ctx, site); err != nil {
			return ctrl.Result{}, err
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Status.Credentials}, StringData: map[string]string{"user": "admin"}}
		if err := r.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
			return ctrl.Result{}, err
		}
	}
	status := site.Status
	var err error
	if status.ReadyReplicas, err = r.deploy(ctx, site); err != nil || site.Status == status {
		return ctrl.Result{}, err
	}
	site.Status = status
	return ctrl.Result{}, r.Status().Update(ctx, site)
}

// finish deletes the Secret of a site.
func (r *SiteReconciler) finish(ctx context.Context, site *webv1.Site) error {
	if site.Status.Credentials != "" {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Status.Credentials}}
		if err := r.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if !controllerutil.RemoveFinalizer(site, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(r.Update(ctx, site))
}

// deploy creates or updates the Deployment of a site, and returns how many of its pods are ready.
func (r *SiteReconciler) deploy(ctx context.Context, site *webv1.Site) (ready int32, err error) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	_, err = controllerutil.CreateOrUpdate(ctx, r.Client, d, func() error {
		labels := map[string]string{"site": site.Name}
		d.Spec.Replicas, d.Spec.Selector, d.Spec.Template.Labels = &site.Spec.Replicas, &metav1.LabelSelector{MatchLabels: labels}, labels
		if len(d.Spec.Template.Spec.Containers) == 0 {
			d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
		}
		d.Spec.Template.Spec.Containers[0].Image = site.Spec.Image
		return controllerutil.SetControllerReference(site, d, r.Scheme)
	})
	return d.Status.ReadyReplicas, err
}
