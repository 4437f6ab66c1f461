package website

import (
	"context"
	"fmt"
	"sort"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	finalizer   = "clients.example.com/record"
	parentIndex = "spec.parent"
	fieldOwner  = client.FieldOwner("website-operator")
)

// Reconciler reconciles Websites.
type Reconciler struct {
	client client.Client
	events events.EventRecorder
	// Identity identifies the process in the statuses that it writes.
	Identity string
}

// SetupWithManager adds the controller of Websites to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.client, r.events = mgr.GetClient(), mgr.GetEventRecorder("website-operator")
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &Website{}, parentIndex, func(obj client.Object) []string {
		if parent := obj.(*Website).Spec.Parent; parent != "" {
			return []string{parent}
		}
		return nil
	})
	if err != nil {
		return err
	}
	toParent := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []reconcile.Request {
		parent := obj.(*Website).Spec.Parent
		if parent == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: parent}}}
	})
	return ctrl.NewControllerManagedBy(mgr).For(&Website{}).Owns(&appsv1.Deployment{}).Watches(&Website{}, toParent).Complete(r)
}

// Reconcile brings a Website to its desired state.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	site := &Website{}
	if err := r.client.Get(ctx, req.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !site.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finish(ctx, site)
	}
	if controllerutil.AddFinalizer(site, finalizer) {
		if err := r.client.Update(ctx, site); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.apply(ctx, site); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.report(ctx, site)
}

// apply applies the Deployment of a Website.
func (r *Reconciler) apply(ctx context.Context, site *Website) error {
	labels := map[string]string{"website": site.Name}
	deployment := appsac.Deployment(site.Name, site.Namespace).WithLabels(labels).
		WithOwnerReferences(metaac.OwnerReference().WithAPIVersion(groupVersion.String()).WithKind("Website").
			WithName(site.Name).WithUID(site.UID).WithController(true).WithBlockOwnerDeletion(true)).
		WithSpec(appsac.DeploymentSpec().WithReplicas(site.Spec.Replicas).
			WithSelector(metaac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(coreac.PodTemplateSpec().WithLabels(labels).
				WithSpec(coreac.PodSpec().WithContainers(coreac.Container().WithName("web").WithImage(site.Spec.Image)))))
	if err := r.client.Apply(ctx, deployment, fieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("applying the Deployment: %w", err)
	}
	return nil
}

// report updates the status of a Website if it has changed.
func (r *Reconciler) report(ctx context.Context, site *Website) error {
	deployment := &appsv1.Deployment{}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(site), deployment); client.IgnoreNotFound(err) != nil {
		return err
	}
	children := &WebsiteList{}
	if err := r.client.List(ctx, children, client.InNamespace(site.Namespace), client.MatchingFields{parentIndex: site.Name}); err != nil {
		return err
	}
	before := site.DeepCopyObject().(*Website)
	site.Status.ObservedGeneration = site.Generation
	site.Status.ReadyReplicas = deployment.Status.ReadyReplicas
	site.Status.Children = nil
	for i := range children.Items {
		site.Status.Children = append(site.Status.Children, children.Items[i].Name)
	}
	sort.Strings(site.Status.Children)
	ready := metav1.Condition{
		Type: "Ready", Status: metav1.ConditionFalse, Reason: "Deploying", ObservedGeneration: site.Generation,
		Message: "written by " + r.Identity,
	}
	if site.Status.ReadyReplicas == site.Spec.Replicas {
		ready.Status, ready.Reason = metav1.ConditionTrue, "Deployed"
	}
	changed := meta.SetStatusCondition(&site.Status.Conditions, ready)
	if !changed && site.Status.ReadyReplicas == before.Status.ReadyReplicas && fmt.Sprint(site.Status.Children) == fmt.Sprint(before.Status.Children) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, site, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	r.events.Eventf(site, nil, corev1.EventTypeNormal, ready.Reason, "Reconcile", "%d of %d ready", site.Status.ReadyReplicas, site.Spec.Replicas)
	return nil
}

// finish records a deleted Website in a ConfigMap and removes the finalizer.
func (r *Reconciler) finish(ctx context.Context, site *Website) error {
	if !controllerutil.ContainsFinalizer(site, finalizer) {
		return nil
	}
	record := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "was-" + site.Name, Namespace: site.Namespace},
		Data:       map[string]string{"image": site.Spec.Image, "by": r.Identity},
	}
	if err := r.client.Create(ctx, record); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("recording: %w", err)
	}
	controllerutil.RemoveFinalizer(site, finalizer)
	return client.IgnoreNotFound(r.client.Update(ctx, site))
}
