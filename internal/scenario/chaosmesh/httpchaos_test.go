package chaosmesh

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// An HTTPChaos meets requests to the pods that it selects, and their answers.
func TestHTTPChaos(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pods := b.cluster.Client().CoreV1().Pods("default")
	create := func(name, server string, command ...string) {
		t.Helper()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}}
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
		pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "tool", Command: command}}
		if server != "" {
			pod.Annotations = map[string]string{"minikcm.dev/server": server}
		}
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("shop", `listen: [{port: 80, routes: [{path: /json, json: {price: 5, name: '${request.headers[?"x-user"].orValue("-")}', q: '${request.query}'}}, {body: "hello\n"}]}]`)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "shop"}, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := b.cluster.Client().CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.advance(5 * time.Second)
	for _, c := range []string{
		"name: request, namespace: default}\nspec: {target: Request, path: /json, method: GET, patch: {headers: [[x-user, ann]], queries: [[a, b]]}",
		"name: answer, namespace: default}\nspec: {target: Response, path: /json, code: 200, patch: {body: {type: JSON, value: '{\"price\": 0}'}}",
		"name: gone, namespace: default}\nspec: {target: Request, path: /gone, abort: true",
		"name: late, namespace: default}\nspec: {target: Response, path: /late, delay: 2s, replace: {code: 503, body: bm8K, headers: {x-by: chaos}}",
	} {
		b.apply(head + "\nkind: HTTPChaos\nmetadata: {" + c + ", port: 80, mode: all, selector: {labelSelectors: {app: shop}}, duration: 1m}\n")
	}
	b.advance(time.Second)
	if chaos := b.get(KindHTTPChaos, "answer"); !holds(chaos, "AllInjected") {
		t.Errorf("its status is %v", chaos.Object["status"])
	}
	const script = `curl -s shop/json; curl -s shop/; curl -sS shop/gone 2>&1; curl -s -w '%{http_code} %{time_total}\n' shop/late`
	log := func(name string) string {
		t.Helper()
		create(name, "", "sh", "-c", script)
		b.advance(20 * time.Second)
		text, err := pods.GetLogs(name, &corev1.PodLogOptions{}).DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got, want := log("client"), "{\"name\":\"ann\",\"price\":0,\"q\":{\"a\":\"b\"}}\nhello\ncurl: (52) Empty reply from server\nno\n503 2.000500\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b.advance(time.Minute)
	if chaos := b.get(KindHTTPChaos, "answer"); !holds(chaos, "AllRecovered") {
		t.Errorf("its status is %v", chaos.Object["status"])
	}
	if got, want := log("after"), "{\"price\":5,\"name\":\"-\",\"q\":{}}\nhello\nhello\nhello\n200 0.000500\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHTTPChaosRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{mode: all, abort: true}":                                                               `spec.target ""`,
		"{target: Request, mode: all}":                                                           "none of abort, delay, replace and patch",
		"{target: Request, mode: all, abort: true, code: 200}":                                   "select answers",
		"{target: Request, mode: all, delay: soon}":                                              "spec.delay",
		"{target: Request, mode: all, replace: {code: 500}}":                                     "code is of the target Response",
		"{target: Response, mode: all, replace: {path: /x}}":                                     "of the target Request",
		"{target: Response, mode: all, replace: {code: 99}}":                                     "from 200 to 599",
		"{target: Response, mode: all, replace: {body: '!'}}":                                    "no base64",
		"{target: Response, mode: all, patch: {headers: [[a]]}}":                                 "spec.patch.headers[0]",
		"{target: Response, mode: all, patch: {queries: [[a, b]]}}":                              "of the target Request",
		"{target: Response, mode: all, patch: {body: {type: XML, value: x}}}":                    "is not JSON",
		"{target: Response, mode: all, patch: {body: {type: JSON, value: '{'}}}":                 "spec.patch.body.value",
		"{target: Request, mode: some, abort: true}":                                             `spec.mode "some"`,
		"{target: Request, mode: fixed, value: '2', abort: true, delay: 1s, duration: 5m}":       "",
		"{target: Response, mode: one, code: 404, response_headers: {a: b}, delay: 10ms}":        "",
		"{target: Request, mode: one, request_headers: {a: b}, replace: {method: put, path: /}}": "",
	} {
		var spec HTTPChaosSpec
		if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
			t.Fatal(err)
		}
		err := checkExperiment(&spec)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
