package minikcmtest_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/minikcmtest"
)

// A test can enable and disable admission plugins.
func TestWithAdmissionPlugins(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithAdmissionPlugins("AlwaysPullImages", "-DefaultTolerationSeconds"))
	pod, err := c.Client().CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1", ImagePullPolicy: corev1.PullNever}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if policy := pod.Spec.Containers[0].ImagePullPolicy; policy != corev1.PullAlways || len(pod.Spec.Tolerations) != 0 {
		t.Errorf("the pull policy is %s, the tolerations are %v", policy, pod.Spec.Tolerations)
	}
}
