package kubeletsim_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPartialAnswers asks programs whose answers end too early, or never: curl says so, as for a real server.
func TestPartialAnswers(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	c.run(podNamed("client", func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "curlimages/curl" }))
	for name, tt := range map[string]struct{ answer, want string }{
		"whole":   {`printf 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc'`, "200 3 0"},
		"partial": {`printf 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc'`, "200 3 18"},
		"endless": {`(printf 'HTTP/1.1 200 OK\r\n\r\n'; yes)`, "200 4194285 56"},
		"nothing": {`true`, "000 0 52"},
	} {
		c.run(podNamed(name, func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Command = []string{"sh", "-c", tt.answer + " | nc -l -p 8080; sleep 10000"}
		}))
		pod, err := c.client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := c.exec(dialers()[0], "client", "", nil, "sh", "-c", "until nc -z "+pod.Status.PodIP+" 8080; do sleep 0.1; done; curl -s -o /dev/null -w '%{http_code} %{size_download} %{exitcode}' http://"+pod.Status.PodIP+":8080/")
		if !strings.HasPrefix(got.out, tt.want) {
			t.Errorf("%s: curl prints %q, want %q (%s, %v)", name, got.out, tt.want, got.err, got.failure)
		}
	}
}
