package apiserver_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A pod's manifest can be sent again, without what admission plugins have set: they set it in
// updates, too.
func TestReplaceAPod(t *testing.T) {
	h := start(t)
	h.giveServiceAccount()
	const manifest = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"x:1"}]}}`
	var made, replaced corev1.Pod
	h.mustSend("POST", "/api/v1/namespaces/default/pods", manifest).into(t, &made)
	again := strings.Replace(manifest, `"name":"p"`, `"name":"p","labels":{"a":"b"}`, 1)
	if made.Spec.ServiceAccountName != "" { // the plugin ServiceAccount only sets it in creates
		again = strings.Replace(again, `"containers":[{"name":"a","image":"x:1"}]`, `"serviceAccountName":"default","volumes":`+asJSON(t, made.Spec.Volumes)+`,"containers":`+asJSON(t, made.Spec.Containers), 1)
	}
	h.mustSend("PUT", "/api/v1/namespaces/default/pods/p", again).into(t, &replaced)
	if replaced.Labels["a"] != "b" || replaced.Spec.Priority == nil || replaced.Spec.PreemptionPolicy == nil || len(replaced.Spec.Tolerations) != len(made.Spec.Tolerations) {
		t.Errorf("got %+v", replaced.Spec)
	}
}
