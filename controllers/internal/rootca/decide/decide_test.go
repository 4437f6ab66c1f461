package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDecide(t *testing.T) {
	active := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
	terminating := active.DeepCopy()
	terminating.Status.Phase = corev1.NamespaceTerminating
	right, verb := ConfigMap(active, nil, "CA")
	if verb != Create || right.Namespace != "a" || right.Name != "kube-root-ca.crt" || right.Data["ca.crt"] != "CA" {
		t.Fatalf("ConfigMap() without a ConfigMap = %v, %v", right, verb)
	}
	tampered := right.DeepCopy()
	tampered.Data["extra"] = "x"
	tampered.Labels = map[string]string{"keep": "me"}
	bare := right.DeepCopy()
	bare.Annotations = nil
	for name, tt := range map[string]struct {
		namespace *corev1.Namespace
		current   *corev1.ConfigMap
		ca        string
		want      Verb
	}{
		"as it should be":   {active, right, "CA", Nothing},
		"another CA":        {active, right, "new CA", Update},
		"tampered with":     {active, tampered, "CA", Update},
		"annotation lost":   {active, bare, "CA", Update},
		"terminating":       {terminating, nil, "CA", Nothing},
		"namespace is gone": {nil, nil, "CA", Nothing},
	} {
		t.Run(name, func(t *testing.T) {
			got, verb := ConfigMap(tt.namespace, tt.current, tt.ca)
			if verb != tt.want {
				t.Fatalf("ConfigMap() = %v, want %v", verb, tt.want)
			}
			if verb != Update {
				return
			}
			if len(got.Data) != 1 || got.Data["ca.crt"] != tt.ca || got.Annotations[descriptionKey] == "" || got.Labels["keep"] != tt.current.Labels["keep"] {
				t.Errorf("ConfigMap() = %v", got)
			}
		})
	}
}
