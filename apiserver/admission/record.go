package admission

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Record returns the write in the form of upstream's libraries. It returns the same
// value each time, because the libraries record in it what they have done.
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
	a.upstream = upstream.NewAttributesRecord(a.Object, a.Old, kind, a.Namespace, a.Name,
		a.Resource.GVR(), a.Subresource, upstream.Operation(a.Operation), a.options(), a.DryRun, info)
	return a.upstream
}

// options returns the options of the request, as far as plugins use them.
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
		return &metav1.CreateOptions{TypeMeta: kind("CreateOptions"), DryRun: dryRun}
	case Connect:
		return nil
	case Update:
		return &metav1.UpdateOptions{TypeMeta: kind("UpdateOptions"), DryRun: dryRun}
	}
	return &metav1.DeleteOptions{TypeMeta: kind("DeleteOptions"), DryRun: dryRun}
}
