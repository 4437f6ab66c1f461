package minikcmtest_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The health check node port of a Service answers on each node whether an endpoint is there.
func TestHealthCheckNodePorts(t *testing.T) {
	t.Parallel()
	c := newTraffic(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: map[string]string{"app": "one"}}}
	pod.Spec.NodeName = "node-1"
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "nginx"}}
	if _, err := c.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, Selector: pod.Labels, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	service, err := c.Client().CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.pass(5 * time.Second)
	port := service.Spec.HealthCheckNodePort
	c.runs("client", fmt.Sprintf(`for n in 2 3; do curl -sS -w '%%{http_code}\n' http://172.18.0.$n:%d/healthz; done; curl -sSk https://172.18.0.2:%d; sleep infinity`, port, port))
	c.pass(10 * time.Second)
	const body = "{\n\t\"service\": {\n\t\t\"namespace\": \"default\",\n\t\t\"name\": \"one\"\n\t},\n\t\"localEndpoints\": %d,\n\t\"serviceProxyHealthy\": true\n}\n%d\n"
	want := fmt.Sprintf(body+body, 0, 503, 1, 200) + "curl: (35) TLS connect error: error:0A0000C6:SSL routines::packet length too long\n"
	if got := c.log("client"); got != want {
		t.Errorf("client wrote\n%s\nwant\n%s", got, want)
	}
}
