package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/auth/rbac/reconciliation"

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/authz"
	"minikcm.dev/minikcm/apiserver/rbac"
	"minikcm.dev/minikcm/apiserver/rbac/accessrecord"
	"minikcm.dev/minikcm/apiserver/rbac/policy"
)

// useAccessControl sets the server's authorizer, unless the options have one. The error is that of
// a webhook's configuration.
func (s *Server) useAccessControl() error {
	source := func(plural string) rbac.Source {
		objects := s.stored[rbacv1.SchemeGroupVersion.WithResource(plural)]
		return rbac.Source{Version: objects.Version, List: func(ctx context.Context) ([]runtime.Object, error) { return objects.KnownIn(ctx, "") }}
	}
	s.rules = rbac.New(rbac.Sources{
		Roles: source("roles"), ClusterRoles: source("clusterroles"),
		RoleBindings: source("rolebindings"), ClusterRoleBindings: source("clusterrolebindings"),
	})
	decides := s.opts.Authorizer
	if decides == nil {
		var err error
		if decides, err = s.configuredAuthorizer(); err != nil {
			return err
		}
	}
	s.recorder = accessrecord.New(decides, s.rules)
	s.opts.Authorizer = s.recorder
	return nil
}

// configuredAuthorizer returns the authorizer of the authorization configuration or of the
// modes.
func (s *Server) configuredAuthorizer() (auth.Authorizer, error) {
	s.nodes = s.newNodeAuthorizer()
	builtIn := map[string]auth.Authorizer{
		AuthorizeNode: s.nodes, AuthorizeRBAC: s.rules,
		AuthorizeAlways: auth.AlwaysAllow{}, AuthorizeNever: auth.AlwaysDeny{},
	}
	s.usesRoles = slices.Contains(s.opts.AuthorizationModes, AuthorizeRBAC)
	union := auth.Union{auth.Masters{}, newKubeletsRole()}
	if config := s.opts.AuthorizationConfig; config != nil {
		var err error
		if s.chain, err = authz.NewChain(config, builtIn); err != nil {
			return nil, err
		}
		return append(union, s.chain), nil
	}
	for _, mode := range s.opts.AuthorizationModes {
		one := builtIn[mode]
		if mode == AuthorizeWebhook {
			var err error
			if one, err = authz.New(s.opts.AuthorizationWebhook); err != nil {
				return nil, err
			}
		}
		union = append(union, one)
	}
	return union, nil
}

// RecordAccess begins to record what a user asks for. With enforce, the user may still do
// only what the server's authorizer allows; otherwise everything. The caller ends the
// recording. It returns a Conflict error if the user is being recorded.
func (s *Server) RecordAccess(user string, enforce bool) (*accessrecord.Recording, error) {
	return s.recorder.Start(user, enforce)
}

// ReadAuthorizationConfig reads the AuthorizationConfiguration in a file
// (apiserver.config.k8s.io), whose authorizers replace the modes of authorization.
func ReadAuthorizationConfig(path string) (*authz.Configuration, error) {
	return authz.Read(path, AuthorizationModes())
}

// escalation returns the admission plugin against granting too much, which only applies
// if roles decide.
func (s *Server) escalation() admission.Mutator {
	if !s.usesRoles {
		return nil
	}
	return rbac.Escalation{Rules: s.rules, Authorizer: s.opts.Authorizer, Record: s.recorder.Grant}
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
	roles, namespaces := client.RbacV1(), client.CoreV1().Namespaces()
	for _, role := range policy.ClusterRoles() {
		if err := s.createOr(ctx, role, completeRole(reconciliation.ClusterRoleRuleOwner{ClusterRole: role}, reconciliation.ClusterRoleModifier{Client: roles.ClusterRoles()})); err != nil {
			return err
		}
	}
	for _, role := range policy.Roles() {
		if err := s.createOr(ctx, role, completeRole(reconciliation.RoleRuleOwner{Role: role}, reconciliation.RoleModifier{Client: roles, NamespaceClient: namespaces})); err != nil {
			return err
		}
	}
	for _, binding := range policy.ClusterRoleBindings() {
		adapter := reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: binding}
		if err := s.createOr(ctx, binding, completeBinding(adapter, reconciliation.ClusterRoleBindingClientAdapter{Client: roles.ClusterRoleBindings()})); err != nil {
			return err
		}
	}
	for _, binding := range policy.RoleBindings() {
		adapter := reconciliation.RoleBindingAdapter{RoleBinding: binding}
		if err := s.createOr(ctx, binding, completeBinding(adapter, reconciliation.RoleBindingClientAdapter{Client: roles, NamespaceClient: namespaces})); err != nil {
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

// The modes of authorization, as in kube-apiserver's --authorization-mode.
const (
	AuthorizeNode   = "Node"
	AuthorizeRBAC   = "RBAC"
	AuthorizeAlways = "AlwaysAllow"
	AuthorizeNever  = "AlwaysDeny"
	// AuthorizeWebhook needs Options.AuthorizationWebhook.
	AuthorizeWebhook = "Webhook"
)

// AuthorizationModes returns all modes.
func AuthorizationModes() []string {
	return []string{AuthorizeNode, AuthorizeRBAC, AuthorizeWebhook, AuthorizeAlways, AuthorizeNever}
}

// DefaultAuthorizationModes returns the modes of a server whose options name none: those of
// kubeadm.
func DefaultAuthorizationModes() []string { return []string{AuthorizeNode, AuthorizeRBAC} }

// CheckAuthorizationModes returns upstream's errors for modes that do not exist or are given
// more than once.
func CheckAuthorizationModes(modes []string) error {
	var errs []error
	seen := map[string]bool{}
	for _, mode := range modes {
		if !slices.Contains(AuthorizationModes(), mode) {
			errs = append(errs, fmt.Errorf("authorization-mode %q is not a valid mode: use %s", mode, strings.Join(AuthorizationModes(), ", ")))
		}
		seen[mode] = true
	}
	if len(seen) < len(modes) {
		errs = append(errs, fmt.Errorf("authorization-mode %q has mode specified more than once", modes))
	}
	return errors.Join(errs...)
}
