package serviceaccount

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultName is the name of the service account that every namespace has.
const DefaultName = "default"

// Missing returns the service accounts to create in the namespace, which is nil if it is
// gone. exists reports whether the namespace has one of that name.
func Missing(ns *corev1.Namespace, exists func(name string) bool) []*corev1.ServiceAccount {
	if ns == nil || ns.Status.Phase != corev1.NamespaceActive || ns.DeletionTimestamp != nil {
		return nil
	}
	if exists(DefaultName) {
		return nil
	}
	return []*corev1.ServiceAccount{{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: DefaultName}}}
}
