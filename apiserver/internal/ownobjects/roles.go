package ownobjects

import (
	"context"
	"fmt"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/auth/rbac/reconciliation"

	"minikcm.dev/minikcm/apiserver/internal/rbac/policy"
)

// EnsureRoles creates the roles and bindings that every cluster has. It completes
// existing ones, as upstream: missing rules and subjects are added, and additional ones
// kept. An object whose annotation rbac.authorization.kubernetes.io/autoupdate is "false"
// stays as it is.
func (w *Writer) EnsureRoles(ctx context.Context, client kubernetes.Interface) error {
	roles, namespaces := client.RbacV1(), client.CoreV1().Namespaces()
	serves := func(gv schema.GroupVersion, resource string) bool {
		return w.Table.Lookup(gv.WithResource(resource)) != nil
	}
	gates := policy.Gates{
		Simulation:            serves(schema.GroupVersion{Group: "simulation.minikcm.dev", Version: "v1alpha1"}, "clocks"),
		GenericWorkload:       serves(schedulingv1beta1.SchemeGroupVersion, "podgroups"),
		DRAResourcePoolStatus: serves(resourcev1alpha3.SchemeGroupVersion, "resourcepoolstatusrequests"),
		StorageVersionAPI:     serves(apiserverinternalv1alpha1.SchemeGroupVersion, "storageversions"),
	}
	for _, role := range policy.ClusterRoles(gates) {
		if err := w.createOr(ctx, role, completeRole(reconciliation.ClusterRoleRuleOwner{ClusterRole: role}, reconciliation.ClusterRoleModifier{Client: roles.ClusterRoles()})); err != nil {
			return err
		}
	}
	for _, role := range policy.Roles() {
		if err := w.createOr(ctx, role, completeRole(reconciliation.RoleRuleOwner{Role: role}, reconciliation.RoleModifier{Client: roles, NamespaceClient: namespaces})); err != nil {
			return err
		}
	}
	for _, binding := range policy.ClusterRoleBindings(gates) {
		adapter := reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: binding}
		if err := w.createOr(ctx, binding, completeBinding(adapter, reconciliation.ClusterRoleBindingClientAdapter{Client: roles.ClusterRoleBindings()})); err != nil {
			return err
		}
	}
	for _, binding := range policy.RoleBindings() {
		adapter := reconciliation.RoleBindingAdapter{RoleBinding: binding}
		if err := w.createOr(ctx, binding, completeBinding(adapter, reconciliation.RoleBindingClientAdapter{Client: roles, NamespaceClient: namespaces})); err != nil {
			return err
		}
	}
	return nil
}

// completeRole returns a function that adds the rules that an existing role lacks.
func completeRole(role reconciliation.RuleOwner, client reconciliation.RuleOwnerModifier) func() error {
	return func() error {
		options := reconciliation.ReconcileRoleOptions{Role: role, Client: client, Confirm: true}
		_, err := options.Run()
		return err
	}
}

// completeBinding returns a function that adds the subjects that an existing binding lacks.
func completeBinding(binding reconciliation.RoleBinding, client reconciliation.RoleBindingModifier) func() error {
	return func() error {
		options := reconciliation.ReconcileRoleBindingOptions{RoleBinding: binding, Client: client, Confirm: true}
		_, err := options.Run()
		return err
	}
}

// createOr creates an object of the cluster itself, and calls reconcile if it exists.
func (w *Writer) createOr(ctx context.Context, obj interface {
	runtime.Object
	metav1.Object
}, reconcile func() error,
) error {
	err := w.Create(ctx, obj.DeepCopyObject())
	if apierrors.IsAlreadyExists(err) {
		err = reconcile()
	}
	if err != nil {
		return fmt.Errorf("creating %T %s: %w", obj, obj.GetName(), err)
	}
	return nil
}
