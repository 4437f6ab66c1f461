package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/authz"
	"minikcm.dev/minikcm/apiserver/internal/rbac"
	"minikcm.dev/minikcm/internal/accessrecord"
	"minikcm.dev/minikcm/internal/auth"
)

// useAccessControl sets the server's authorizer, unless the options have one. It returns an error
// if a webhook's configuration is invalid.
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

// RecordAccess begins to record a user's requests. With enforce, the server's authorizer still
// limits the user; otherwise the user may do everything. The caller ends the recording. It
// returns a Conflict error if the user is being recorded.
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

// DefaultAuthorizationModes returns kubeadm's modes, which apply if the options name none.
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
