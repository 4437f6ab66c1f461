package minikcmapi

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// script runs a script in a pod, and returns its log after a minute.
func (m *machine) script(name, text string) string {
	m.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "tool", Command: []string{"sh", "-c", text}}}
	if _, err := m.Client().CoreV1().Pods("default").Create(m.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
	m.pass(time.Minute)
	log, err := m.Client().CoreV1().Pods("default").GetLogs(name, &corev1.PodLogOptions{}).DoRaw(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	return string(log)
}

// A router waits as long as a rule says, tries again what fails, and takes another endpoint for one that refuses.
func TestRouterWaitsAndTriesAgain(t *testing.T) {
	t.Parallel()
	m := newGateways(t)
	m.pod("slow", map[string]string{"minikcm.dev/server": "listen: [{port: 8080, routes: [{path: /slow, delay: 3s, body: late}, {body: early}]}]"})
	m.pod("flaky", map[string]string{"minikcm.dev/server": `
state: {n: 0}
listen:
- port: 8080
  routes:
  - {path: /reset, if: state.n < 2, set: {n: '${state.n + 1}'}, fail: reset}
  - {path: /busy, if: state.n < 4, set: {n: '${state.n + 1}'}, status: 503}
  - {path: /never, status: 503}
  - {body: '${request.body}'}`})
	for _, name := range []string{"slow", "flaky"} {
		m.service(name, corev1.ServiceTypeClusterIP, nil)
	}
	// Two of the three endpoints of the Service half refuse.
	for i, port := range []string{"9", "8080", "9"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("half-", i), Labels: map[string]string{"app": "half"}, Annotations: map[string]string{"minikcm.dev/http": port + " /* 200 ok"}}}
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "nginx"}}
		if _, err := m.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	m.service("half", corev1.ServiceTypeClusterIP, nil)
	m.putGateway("httproutes", "HTTPRoute", "{name: times, namespace: default}", `
  parentRefs: [{name: web}]
  hostnames: [times.example]
  rules:
  - {matches: [{path: {value: /slow}}], timeouts: {request: 1s}, backendRefs: [{name: slow, port: 8081}]}
  - {matches: [{path: {value: /twice}}], timeouts: {backendRequest: 1s}, retry: {attempts: 1}, filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /slow}}}], backendRefs: [{name: slow, port: 8081}]}
  - {matches: [{path: {value: /patient}}], timeouts: {request: 5s}, filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /slow}}}], backendRefs: [{name: slow, port: 8081}]}
  - {matches: [{path: {value: /half}}], backendRefs: [{name: half, port: 8081}]}
  - {matches: [{path: {value: /once}}], filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: a, value: b}]}}, {type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /reset}}}], backendRefs: [{name: flaky, port: 8081}]}
  - {retry: {codes: [503], attempts: 2, backoff: 500ms}, backendRefs: [{name: flaky, port: 8081}]}
`)
	m.pass(10 * time.Second)
	got := m.script("client", `
ask() { curl -s -o /tmp/body -w '%{http_code} %{time_total}' "$@"; echo " $(head -1 /tmp/body)"; }
for p in slow twice patient once; do ask times.example/$p; done
ask -d hello times.example/reset; ask -d hello times.example/busy; ask times.example/never
for i in 1 2 3 4 5 6; do curl -s times.example/half; done`)
	want := `504 1.000500 minikcm: 504 Gateway Timeout: there was no answer within 1s
504 2.000500 minikcm: 504 Gateway Timeout: there was no answer within 1s
200 3.000500 late
502 0.000500 minikcm: 502 Bad Gateway: the server has ended the connection without an answer
200 0.500500 hello
200 1.000500 hello
503 1.000500 
ok
ok
ok
ok
ok
ok
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
