package apiserver_test

import (
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
)

// TestNamespaceChangesDuringCreate checks creates that NamespaceLifecycle has admitted when their
// namespace changes: a webhook that is called after it changes the namespace.
func TestNamespaceChangesDuringCreate(t *testing.T) {
	h := start(t)
	client := h.client()
	namespaces := client.CoreV1().Namespaces()
	change := map[string]func(name string) error{
		"labeled": func(name string) error {
			_, err := namespaces.Patch(h.ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
			return err
		},
		"terminating": func(name string) error { return namespaces.Delete(h.ctx, name, metav1.DeleteOptions{}) },
		"gone": func(name string) error {
			if err := namespaces.Delete(h.ctx, name, metav1.DeleteOptions{}); err != nil {
				return err
			}
			finalized, err := namespaces.Get(h.ctx, name, metav1.GetOptions{})
			if err == nil {
				finalized.Spec.Finalizers = nil
				_, err = namespaces.Finalize(h.ctx, finalized, metav1.UpdateOptions{})
			}
			return err
		},
	}
	config := webhookOf(t, func(_ string, object *corev1.ConfigMap, _ *admissionv1.AdmissionResponse) {
		if err := change[object.Name](object.Namespace); err != nil {
			t.Error(err)
		}
	})
	must(client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(h.ctx, &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "v"}, Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "v.example.com", ClientConfig: config, Rules: rulesFor("configmaps", registrationv1.Create),
			SideEffects: ptr.To(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{}))(t)
	for verb, create := range map[string]func(namespace, name string) error{
		"create": func(namespace, name string) error {
			late := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
			_, err := client.CoreV1().ConfigMaps(namespace).Create(h.ctx, late, metav1.CreateOptions{})
			return err
		},
		"apply": func(namespace, name string) error {
			late := applycorev1.ConfigMap(name, namespace)
			_, err := client.CoreV1().ConfigMaps(namespace).Apply(h.ctx, late, metav1.ApplyOptions{FieldManager: "test"})
			return err
		},
	} {
		for name, stored := range map[string]int{"labeled": 1, "terminating": 0, "gone": 0} {
			namespace := verb + "-" + name
			must(namespaces.Create(h.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}))(t)
			err := create(namespace, name)
			switch {
			case name == "labeled" && err != nil:
				t.Errorf("%s in the namespace with a new label: %v", verb, err)
			case name == "terminating" && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
				t.Errorf("%s in the terminating namespace: %v", verb, err)
			case name == "gone" && !apierrors.IsNotFound(err):
				t.Errorf("%s in the namespace that is gone: %v", verb, err)
			}
			if list := must(client.CoreV1().ConfigMaps(namespace).List(h.ctx, metav1.ListOptions{}))(t); len(list.Items) != stored {
				t.Errorf("%s: %d ConfigMaps, want %d", namespace, len(list.Items), stored)
			}
		}
	}
}
