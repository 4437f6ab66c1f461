package resources

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func roleRow() *Resource {
	return &Resource{
		GroupVersionKind: rbacv1.SchemeGroupVersion.WithKind("Role"),
		Plural:           "roles",
		Namespaced:       true,
		New:              func() runtime.Object { return &rbacv1.Role{} },
		NewList:          func() runtime.Object { return &rbacv1.RoleList{} },
		Strategy: Strategy{
			NameCheck:           path.ValidatePathSegmentName,
			Validate:            check(validation.Role),
			AllowCreateOnUpdate: true,
		},
	}
}

func clusterRoleRow() *Resource {
	return &Resource{
		GroupVersionKind: rbacv1.SchemeGroupVersion.WithKind("ClusterRole"),
		Plural:           "clusterroles",
		New:              func() runtime.Object { return &rbacv1.ClusterRole{} },
		NewList:          func() runtime.Object { return &rbacv1.ClusterRoleList{} },
		Strategy: Strategy{
			NameCheck:           path.ValidatePathSegmentName,
			Validate:            check(validation.ClusterRole),
			AllowCreateOnUpdate: true,
		},
	}
}

func roleBindingRow() *Resource {
	return &Resource{
		GroupVersionKind: rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
		Plural:           "rolebindings",
		Namespaced:       true,
		New:              func() runtime.Object { return &rbacv1.RoleBinding{} },
		NewList:          func() runtime.Object { return &rbacv1.RoleBindingList{} },
		Strategy: Strategy{
			NameCheck:           path.ValidatePathSegmentName,
			Default:             on(func(b *rbacv1.RoleBinding) { defaultBinding(&b.RoleRef, b.Subjects) }),
			Validate:            check(validation.RoleBinding),
			ValidateUpdate:      checkUpdate(validation.RoleBindingUpdate),
			AllowCreateOnUpdate: true,
		},
	}
}

func clusterRoleBindingRow() *Resource {
	return &Resource{
		GroupVersionKind: rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
		Plural:           "clusterrolebindings",
		New:              func() runtime.Object { return &rbacv1.ClusterRoleBinding{} },
		NewList:          func() runtime.Object { return &rbacv1.ClusterRoleBindingList{} },
		Strategy: Strategy{
			NameCheck:           path.ValidatePathSegmentName,
			Default:             on(func(b *rbacv1.ClusterRoleBinding) { defaultBinding(&b.RoleRef, b.Subjects) }),
			Validate:            check(validation.ClusterRoleBinding),
			ValidateUpdate:      checkUpdate(validation.ClusterRoleBindingUpdate),
			AllowCreateOnUpdate: true,
		},
	}
}

func defaultBinding(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	setDefault(&ref.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if kind := subjects[i].Kind; kind == rbacv1.UserKind || kind == rbacv1.GroupKind {
			setDefault(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}
