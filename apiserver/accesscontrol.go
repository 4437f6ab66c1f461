package apiserver

import (
	"context"
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/auth/rbac/reconciliation"

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/rbac"
	"minikcm.dev/minikcm/apiserver/rbac/policy"
)

// useAccessControl sets the server's authorizer, unless the options have one.
func (s *Server) useAccessControl() {
	source := func(plural string) rbac.Source {
		objects := s.stored[rbacv1.SchemeGroupVersion.WithResource(plural)]
		return rbac.Source{Version: objects.Version, List: func(ctx context.Context) ([]runtime.Object, error) { return objects.KnownIn(ctx, "") }}
	}
	s.rules = rbac.New(rbac.Sources{
		Roles: source("roles"), ClusterRoles: source("clusterroles"),
		RoleBindings: source("rolebindings"), ClusterRoleBindings: source("clusterrolebindings"),
	})
	if s.opts.Authorizer != nil {
		return
	}
	union := auth.Union{auth.Masters{}}
	for _, mode := range s.opts.AuthorizationModes {
		switch mode {
		case AuthorizeRBAC:
			union = append(union, s.rules)
		case AuthorizeAlways:
			union = append(union, auth.AlwaysAllow{})
		case AuthorizeNever:
			union = append(union, auth.AlwaysDeny{})
		}
	}
	s.opts.Authorizer = union
}

// usesRBAC reports whether roles and bindings decide.
func (s *Server) usesRBAC() bool {
	union, ok := s.opts.Authorizer.(auth.Union)
	if !ok {
		return false
	}
	for _, one := range union {
		if one == auth.Authorizer(s.rules) {
			return true
		}
	}
	return false
}

// escalation returns the admission plugin against granting too much, which only applies
// if roles decide.
func (s *Server) escalation() admission.Mutator {
	if !s.usesRBAC() {
		return nil
	}
	return rbac.Escalation{Rules: s.rules, Authorizer: s.opts.Authorizer}
}

// bootstrapRoles creates the roles and bindings that every cluster has. It completes
// existing ones, as upstream: missing rules and subjects are added, and additional ones
// kept. An object whose annotation rbac.authorization.kubernetes.io/autoupdate is "false"
// stays as it is.
func (s *Server) bootstrapRoles(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(Protobuf(s.ownConfig()))
	if err != nil {
		return fmt.Errorf("making the client for roles: %w", err)
	}
	for _, role := range policy.ClusterRoles() {
		if err := s.createOr(ctx, role, func() error {
			options := reconciliation.ReconcileRoleOptions{
				Role: reconciliation.ClusterRoleRuleOwner{ClusterRole: role}, Client: reconciliation.ClusterRoleModifier{Client: client.RbacV1().ClusterRoles()}, Confirm: true,
			}
			_, err := options.Run()
			return err
		}); err != nil {
			return err
		}
	}
	for _, role := range policy.Roles() {
		if err := s.createOr(ctx, role, func() error {
			options := reconciliation.ReconcileRoleOptions{
				Role: reconciliation.RoleRuleOwner{Role: role}, Client: reconciliation.RoleModifier{Client: client.RbacV1(), NamespaceClient: client.CoreV1().Namespaces()}, Confirm: true,
			}
			_, err := options.Run()
			return err
		}); err != nil {
			return err
		}
	}
	return s.bootstrapBindings(ctx, client)
}

func (s *Server) bootstrapBindings(ctx context.Context, client kubernetes.Interface) error {
	for _, binding := range policy.ClusterRoleBindings() {
		if err := s.createOr(ctx, binding, func() error {
			options := reconciliation.ReconcileRoleBindingOptions{
				RoleBinding: reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: binding},
				Client:      reconciliation.ClusterRoleBindingClientAdapter{Client: client.RbacV1().ClusterRoleBindings()}, Confirm: true,
			}
			_, err := options.Run()
			return err
		}); err != nil {
			return err
		}
	}
	for _, binding := range policy.RoleBindings() {
		if err := s.createOr(ctx, binding, func() error {
			options := reconciliation.ReconcileRoleBindingOptions{
				RoleBinding: reconciliation.RoleBindingAdapter{RoleBinding: binding},
				Client:      reconciliation.RoleBindingClientAdapter{Client: client.RbacV1(), NamespaceClient: client.CoreV1().Namespaces()}, Confirm: true,
			}
			_, err := options.Run()
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// createOr creates an object of the cluster itself, and calls reconcile if it exists.
func (s *Server) createOr(ctx context.Context, obj interface {
	runtime.Object
	metav1.Object
}, reconcile func() error,
) error {
	err := s.createOwn(ctx, obj.DeepCopyObject())
	if apierrors.IsAlreadyExists(err) {
		err = reconcile()
	}
	if err != nil {
		return fmt.Errorf("creating %T %s: %w", obj, obj.GetName(), err)
	}
	return nil
}

var errUnknownMode = errors.New("it is none of " + AuthorizeRBAC + ", " + AuthorizeAlways + " and " + AuthorizeNever)

// The modes of authorization, as in kube-apiserver's --authorization-mode.
const (
	AuthorizeRBAC   = "RBAC"
	AuthorizeAlways = "AlwaysAllow"
	AuthorizeNever  = "AlwaysDeny"
)

// CheckAuthorizationModes returns an error for modes that do not exist.
func CheckAuthorizationModes(modes []string) error {
	for _, mode := range modes {
		switch mode {
		case AuthorizeRBAC, AuthorizeAlways, AuthorizeNever:
		default:
			return fmt.Errorf("authorization mode %q: %w", mode, errUnknownMode)
		}
	}
	return nil
}
