// Package database has the controller and the webhooks of an operator that serves its kind in
// two versions.
package database

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	v1 "minikcm.dev/minikcm/test/clients/database/v1"
)

// SetupWithManager adds the controller of Databases and their webhooks to a manager.
func SetupWithManager(mgr ctrl.Manager) error {
	r := &reconciler{client: mgr.GetClient()}
	if err := ctrl.NewControllerManagedBy(mgr).For(&v1.Database{}).Owns(&corev1.ConfigMap{}).Complete(r); err != nil {
		return fmt.Errorf("setting up the controller: %w", err)
	}
	if err := ctrl.NewWebhookManagedBy(mgr, &v1.Database{}).WithDefaulter(defaulter{}).WithValidator(validator{}).Complete(); err != nil {
		return fmt.Errorf("setting up the webhooks: %w", err)
	}
	return nil
}

type reconciler struct{ client client.Client }

// Reconcile creates the ConfigMap of a Database and reports its address.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	db := &v1.Database{}
	if err := r.client.Get(ctx, req.NamespacedName, db); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: db.Name, Namespace: db.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.client, settings, func() error {
		settings.Data = map[string]string{"engine": db.Spec.Engine, "size": db.Spec.Size.String()}
		return controllerutil.SetControllerReference(db, settings, r.client.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("writing the settings: %w", err)
	}
	if address := db.Name + "." + db.Namespace + ".svc"; db.Status.Address != address {
		db.Status.Address = address
		return ctrl.Result{}, r.client.Status().Update(ctx, db)
	}
	return ctrl.Result{}, nil
}

// defaulter sets the engine.
type defaulter struct{}

// Default implements admission.Defaulter.
func (defaulter) Default(_ context.Context, db *v1.Database) error {
	if db.Spec.Engine == "" {
		db.Spec.Engine = "postgres"
	}
	return nil
}

// validator refuses a Database that shrinks or is too large.
type validator struct{}

var largest = resource.MustParse("1Ti")

// ValidateCreate implements admission.Validator.
func (validator) ValidateCreate(_ context.Context, db *v1.Database) (admission.Warnings, error) {
	if db.Spec.Size.Cmp(largest) > 0 {
		return nil, fmt.Errorf("spec.size: %s is larger than %s", db.Spec.Size.String(), largest.String())
	}
	return nil, nil
}

// ValidateUpdate implements admission.Validator.
func (v validator) ValidateUpdate(ctx context.Context, old, db *v1.Database) (admission.Warnings, error) {
	if db.Spec.Size.Cmp(old.Spec.Size) < 0 {
		return nil, fmt.Errorf("spec.size: %s is smaller than %s, the size before", db.Spec.Size.String(), old.Spec.Size.String())
	}
	return v.ValidateCreate(ctx, db)
}

// ValidateDelete implements admission.Validator.
func (validator) ValidateDelete(context.Context, *v1.Database) (admission.Warnings, error) {
	return nil, nil
}
