package admission

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Record returns the write in the form of upstream's libraries. It returns the same
// value each time, because the libraries record their decisions in it.
func (a *Attributes) Record() upstream.Attributes {
	if a.upstream != nil {
		return a.upstream
	}
	kind := a.Kind
	if kind.Empty() {
		kind = a.Resource.GroupVersionKind
	}
	info := &user.DefaultInfo{}
	if a.User != nil {
		info = &user.DefaultInfo{Name: a.User.Name, UID: a.User.UID, Groups: a.User.Groups, Extra: a.User.Extra}
	}
	namespace := a.Namespace
	if a.Resource.GroupResource() == corev1.Resource("namespaces") {
		namespace = a.Name // as upstream: a Namespace is in itself
	}
	a.upstream = upstream.NewAttributesRecord(a.Object, a.Old, kind, namespace, a.Name,
		a.Resource.GVR(), a.Subresource, upstream.Operation(a.Operation), a.options(), a.DryRun, info)
	return a.upstream
}

// options returns the options of the request, with their kind.
func (a *Attributes) options() runtime.Object {
	var dryRun []string
	if a.DryRun {
		dryRun = []string{metav1.DryRunAll}
	}
	kind := func(name string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: name}
	}
	switch a.Operation {
	case Create:
		return &metav1.CreateOptions{TypeMeta: kind("CreateOptions"), DryRun: dryRun, FieldManager: a.Options.FieldManager, FieldValidation: a.Options.FieldValidation}
	case Connect:
		return nil
	case Update:
		return &metav1.UpdateOptions{TypeMeta: kind("UpdateOptions"), DryRun: dryRun, FieldManager: a.Options.FieldManager, FieldValidation: a.Options.FieldValidation}
	}
	opts := &metav1.DeleteOptions{DryRun: dryRun}
	if a.Options.Deletion != nil {
		opts = a.Options.Deletion.DeepCopy()
	}
	opts.TypeMeta = kind("DeleteOptions")
	return opts
}
