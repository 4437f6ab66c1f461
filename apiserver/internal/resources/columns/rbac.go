package columns

import (
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RoleBinding is the Table of rbac.authorization.k8s.io/v1 RoleBindings.
func RoleBinding() Table {
	return table(func(b *rbacv1.RoleBinding, now time.Time) []any {
		return bindingCells(&b.ObjectMeta, &b.RoleRef, b.Subjects, now)
	}, bindingColumns(rbacv1.RoleBinding{}.SwaggerDoc())...)
}

// ClusterRoleBinding is the Table of rbac.authorization.k8s.io/v1 ClusterRoleBindings.
func ClusterRoleBinding() Table {
	return table(func(b *rbacv1.ClusterRoleBinding, now time.Time) []any {
		return bindingCells(&b.ObjectMeta, &b.RoleRef, b.Subjects, now)
	}, bindingColumns(rbacv1.ClusterRoleBinding{}.SwaggerDoc())...)
}

func bindingColumns(doc map[string]string) []column {
	return []column{
		nameColumn(),
		text("Role", doc["roleRef"]),
		ageColumn(),
		wide(text("Users", "The users that get the role.")),
		wide(text("Groups", "The groups whose users get the role.")),
		wide(text("ServiceAccounts", "The service accounts that get the role.")),
	}
}

func bindingCells(m *metav1.ObjectMeta, ref *rbacv1.RoleRef, subjects []rbacv1.Subject, now time.Time) []any {
	var users, groups, accounts []string
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		}
	}
	return []any{
		m.Name, ref.Kind + "/" + ref.Name, age(m.CreationTimestamp, now),
		strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", "),
	}
}
