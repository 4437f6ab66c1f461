package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/leastprivilege"
)

// grantsInFiles returns the roles in the manifests.
func (r *rbacRecord) grantsInFiles(cmd *cobra.Command) ([]leastprivilege.Grant, error) {
	if len(r.files) == 0 {
		return nil, nil
	}
	read, err := dump.Read(r.files, cmd.InOrStdin())
	if err != nil {
		return nil, badInput{err}
	}
	var grants []leastprivilege.Grant
	for object := range read.Objects() {
		if object.GroupVersionKind().Group != rbacv1.GroupName {
			continue
		}
		var role rbacv1.ClusterRole // a Role has the same rules
		var problem error
		switch object.GetKind() {
		case "ClusterRole", "Role":
			problem = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role)
		default:
			continue
		}
		if problem != nil {
			return nil, badInput{fmt.Errorf("reading the %s %s: %w", object.GetKind(), object.GetName(), problem)}
		}
		grants = append(grants, leastprivilege.Grant{Role: object.GetKind() + " " + role.Name, Namespace: role.Namespace, Rules: role.Rules})
	}
	if len(grants) == 0 {
		return nil, badInput{errors.New("--filename: the manifests contain no Role and no ClusterRole")}
	}
	return grants, nil
}

// grantsOf returns the roles that a user is bound to by name or by one of its groups.
func grantsOf(ctx context.Context, client kubernetes.Interface, user *auth.User) ([]leastprivilege.Grant, error) {
	clusterBindings, err := client.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the bindings of %s: %w", user.Name, err)
	}
	bindings, err := client.RbacV1().RoleBindings(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the bindings of %s: %w", user.Name, err)
	}
	var grants []leastprivilege.Grant
	add := func(namespace string, subjects []rbacv1.Subject, ref rbacv1.RoleRef) error {
		if !slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return isSubject(&s, user) }) {
			return nil
		}
		rules, err := rulesOf(ctx, client, namespace, ref)
		if apierrors.IsNotFound(err) {
			return nil // it grants nothing
		}
		grants = append(grants, leastprivilege.Grant{Role: ref.Kind + " " + ref.Name, Namespace: namespace, Rules: rules})
		return err
	}
	for i := range clusterBindings.Items {
		if err := add("", clusterBindings.Items[i].Subjects, clusterBindings.Items[i].RoleRef); err != nil {
			return nil, err
		}
	}
	for i := range bindings.Items {
		if err := add(bindings.Items[i].Namespace, bindings.Items[i].Subjects, bindings.Items[i].RoleRef); err != nil {
			return nil, err
		}
	}
	return grants, nil
}

// isSubject reports whether a subject of a binding is the user, or a group of the user.
func isSubject(s *rbacv1.Subject, user *auth.User) bool {
	switch s.Kind {
	case rbacv1.UserKind:
		return s.Name == user.Name
	case rbacv1.GroupKind:
		return slices.Contains(user.Groups, s.Name)
	case rbacv1.ServiceAccountKind:
		return auth.AccountName(s.Namespace, s.Name) == user.Name
	}
	return false
}

func rulesOf(ctx context.Context, client kubernetes.Interface, namespace string, ref rbacv1.RoleRef) ([]rbacv1.PolicyRule, error) {
	if ref.Kind == "ClusterRole" {
		role, err := client.RbacV1().ClusterRoles().Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("reading the ClusterRole %s: %w", ref.Name, err)
		}
		return role.Rules, nil
	}
	role, err := client.RbacV1().Roles(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the Role %s in %s: %w", ref.Name, namespace, err)
	}
	return role.Rules, nil
}
