package minikcmtest_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/minikcmtest"
)

// described is a cluster without pods.
func described(t *testing.T) *traffic {
	t.Helper()
	return &traffic{minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(2)), t}
}

// describes creates a pod with a description of its server, and a Service of its name for port 80.
func (c *traffic) describes(name, description string, change func(*corev1.Pod)) {
	c.t.Helper()
	labels := map[string]string{"app": name}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{"minikcm.dev/server": description}}}
	pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "app", Env: []corev1.EnvVar{{Name: "COLOR", Value: "green"}}}}
	if change != nil {
		change(pod)
	}
	if _, err := c.Client().CoreV1().Pods("default").Create(c.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := c.Client().CoreV1().Services("default").Create(c.t.Context(), service, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	c.pass(3 * time.Second)
}

// says returns what a script writes within some time.
func (c *traffic) says(name, script string, within time.Duration) string {
	c.t.Helper()
	pod := speaking(name, script)
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	if _, err := c.Client().CoreV1().Pods("default").Create(c.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	c.pass(3*time.Second + within)
	return strings.TrimSpace(c.log(name))
}

// Programs in other pods get the answers of a description.
func TestDescribedServer(t *testing.T) {
	t.Parallel()
	c := described(t)
	c.describes("app", `
state: {hits: 0}
listen:
- port: 80
  headers: {Server: demo}
  routes:
  - {path: '/hello/{who}', body: "${container.env.COLOR} ${request.vars.who} ${pod.name} ${request.peer == pod.ip}\n"}
  - {path: /slow, delay: 2s, body: "slow\n"}
  - {path: /hang, fail: hang}
  - {path: /reset, fail: reset}
  - {path: /close, fail: close}
  - {path: /count, set: {hits: '${state.hits + 1}'}, body: "${state.hits}\n"}
  - {path: /echo, method: POST, status: 201, body: "${request.body}|${request.headers['content-type']}\n"}
  - {path: /note, log: 'GET ${request.uri}', body: "noted\n"}
  - {path: /cgi/*, run: {cgi: true, script: 'sleep 1; echo "Status: 418"; echo "X-A: $REQUEST_METHOD $QUERY_STRING"; echo; cat; echo "$PATH_INFO $COLOR"'}}
  - {path: /fails, run: {command: [sh, -c, 'echo half; exit 3']}}
  - {path: /long, run: {script: 'sleep 100', timeout: 1s}, body: "${run.code}\n"}
  - {path: /file, body: "${exists('/tmp/ready')}\n"}
  - {path: '/files/*', files: /srv}
`, func(pod *corev1.Pod) { pod.Annotations["minikcm.dev/files"] = "/srv/index.html It works!" })
	got := c.says("client", `
		f() { curl -s -w '%{http_code} %{time_total}\n' "$@"; echo "= $?"; }
		f http://app/hello/world
		f http://app/none
		f http://app/slow
		f -m 1 http://app/slow
		f -m 3 http://app/hang
		f http://app/reset
		f http://app/close
		f http://app/count; f http://app/count
		f -d text http://app/echo
		f 'http://app/note?msg=1'
		curl -si -d in 'http://app/cgi/x?a=b' | tr -d '\r'
		f http://app/fails
		f http://app/long
		f http://app/file
		f http://app/files/`, time.Minute)
	want := `green world app false
200 0.000500
= 0
404 page not found
404 0.000500
= 0
slow
200 2.000500
= 0
000 1.000000
= 28
000 3.000000
= 28
000 0.000500
= 56
000 0.000500
= 52
1
200 0.000500
= 0
2
200 0.000500
= 0
text|application/x-www-form-urlencoded
201 0.000500
= 0
noted
200 0.000500
= 0
HTTP/1.1 418 I'm a teapot
Content-Length: 15
Content-Type: text/plain; charset=utf-8
Server: demo
X-A: POST a=b

in/cgi/x green
half
500 0.000500
= 0
137
500 1.000500
= 0
false
200 0.000500
= 0
It works!
200 0.000500
= 0`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if log := c.log("app"); !strings.Contains(log, "GET /note?msg=1\n") {
		t.Errorf("the log of the server: %s", log)
	}
}

// Servers ask servers: through the network, with its errors, and not without end.
func TestServersAskServers(t *testing.T) {
	t.Parallel()
	c := described(t)
	c.describes("front", `
listen:
- port: 80
  routes:
  - {path: /loop, calls: {next: 'http://loop/'}, body: "${calls.next.status} ${calls.next.body}${calls.next.error}\n"}
  - path: /
    calls:
      back: 'http://back/items?q=${request.query[?"q"].orValue("all")}'
      slow: {url: 'http://back/slow', timeout: 1s}
      none: http://nowhere.default.svc.cluster.local/
      shut: http://back:81/
    body: "${calls.back.status} ${calls.back.body} ${calls.back.headers.server}\n${calls.slow.error}\n${calls.none.error}\n${calls.shut.error}\n"
`, nil)
	c.describes("back", `
listen:
- port: 80
  headers: {Server: back}
  routes:
  - {path: /slow, delay: 5s}
  - {body: 'items ${request.query.q}'}
`, nil)
	c.describes("loop", `
listen: [{port: 80, routes: [{calls: {a: 'http://loop/', b: 'http://loop/'}, body: '${calls.a.status}'}]}]
`, nil)
	got := c.says("client", "curl -s 'http://front/?q=1'; curl -s http://front/loop", time.Minute)
	want := "200 items 1 back\nit takes too long: timeout\nlookup nowhere.default.svc.cluster.local: no such host\nit takes too long: timeout\n200 200"
	if !strings.HasPrefix(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// Lines and datagrams have answers, too.
func TestLinesAndDatagrams(t *testing.T) {
	t.Parallel()
	c := described(t)
	c.describes("app", `
listen:
- {port: 7, mode: echo}
- {port: 7, protocol: UDP, mode: echo}
- port: 6379
  mode: text
  routes:
  - {line: PING, body: "+PONG\r\n"}
  - {line: 'ECHO *', body: '${request.body.substring(5)}'}
  - {line: QUIT, fail: close}
  - {if: 'request.body.size() > 10', fail: reset}
- port: 8081
  protocol: UDP
  mode: text
  routes:
  - {line: hostname, body: '${pod.hostname}'}
  - {line: clientip, body: '${request.peer == pod.ip}'}
`, nil)
	pod, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "app", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := c.says("client", strings.ReplaceAll(`
		printf 'a\nb\n' | nc IP 7
		echo c | nc -u IP 7
		printf 'PING\r\nECHO hi\nnone\nQUIT\nPING\n' | nc IP 6379; echo
		echo 'long long long' | nc IP 6379; echo $?
		echo hostname | nc -u -w 1 IP 8081; echo
		echo clientip | nc -u -w 1 IP 8081; echo
		nc -z IP 8081; echo $?
		nc -z -v IP 6379; echo $?`, "IP", pod.Status.PodIP), time.Minute)
	want := "a\nb\nc\n+PONG\r\nhi\nnc: read: Connection reset by peer\n1\napp\nfalse\n1\nIP (IP:6379) open\n0"
	if want = strings.ReplaceAll(want, "IP", pod.Status.PodIP); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// Probes get the answers of the present: a server that fails after some time is restarted, and one that is slow is not ready.
func TestProbesOfDescribedServers(t *testing.T) {
	t.Parallel()
	c := described(t)
	probe := func(path string, threshold int32) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(80)}}, PeriodSeconds: 2, FailureThreshold: threshold}
	}
	c.describes("app", `
listen:
- port: 80
  routes:
  - {path: /healthz, if: 'now - container.startedAt > duration("15s")', status: 500}
  - {path: /healthz, headers: {X-Agent: "${request.headers['user-agent']}"}, body: ok}
  - {path: /readyz, if: 'container.restarts == 0', delay: 3s}
  - {path: /readyz, body: ready}
`, func(pod *corev1.Pod) {
		pod.Spec.Containers[0].LivenessProbe, pod.Spec.Containers[0].ReadinessProbe = probe("/healthz", 1), probe("/readyz", 1)
	})
	state := func() corev1.ContainerStatus {
		t.Helper()
		pod, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "app", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pod.Status.ContainerStatuses[0]
	}
	c.pass(8 * time.Second)
	if s := state(); s.Ready || s.RestartCount != 0 {
		t.Errorf("after 11 s: ready %v, %d restarts", s.Ready, s.RestartCount)
	}
	c.pass(12 * time.Second)
	if s := state(); !s.Ready || s.RestartCount != 1 {
		t.Errorf("after 23 s: ready %v, %d restarts", s.Ready, s.RestartCount)
	}
	texts := map[string]bool{}
	events, err := c.Client().CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events.Items {
		texts[events.Items[i].Message] = true
	}
	if !texts["Liveness probe failed: HTTP probe failed with statuscode: 500"] {
		t.Errorf("events: %v", texts)
	}
}

// A description that does not parse is an event of its pod, whose ports are as without it.
func TestInvalidDescription(t *testing.T) {
	t.Parallel()
	c := described(t)
	c.describes("app", "listen: [{port: 80, routes: [{status: 99}]}]", nil)
	if got := c.says("client", "curl -s http://app/ | head -1", time.Second); got != "pod: app" {
		t.Errorf("it answers %q", got)
	}
	events, err := c.Client().CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=InvalidSimulation"})
	if err != nil || len(events.Items) != 1 || !strings.Contains(events.Items[0].Message, `annotation minikcm.dev/server is ignored: listen[0].routes[0].status: "99" is not a number from 200 to 599`) {
		t.Errorf("events: %+v, %v", events.Items, err)
	}
	// What is new in the annotations is reported once, also while the pod runs.
	patch := `{"metadata": {"annotations": {"minikcm.dev/exit-cod": "3", "minikcm.dev/ready-delay": "soon"}}}`
	if _, err := c.Client().CoreV1().Pods("default").Patch(t.Context(), "app", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.pass(time.Minute)
	events, err = c.Client().CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=InvalidSimulation"})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, e := range events.Items {
		said = append(said, fmt.Sprintf("%d %s", max(e.Count, 1), e.Message))
	}
	slices.Sort(said)
	if want := []string{
		"1 annotation minikcm.dev/exit-cod is ignored: nothing reads it; did you mean minikcm.dev/exit-code?",
		`1 annotation minikcm.dev/ready-delay is ignored: "soon" is not a duration such as 5s, nor never`,
	}; len(said) != 3 || !slices.Equal(said[:2], want) {
		t.Errorf("events: %q, want %q and one more", said, want)
	}
}

// A profile has descriptions for all pods of its image, and what is invalid in it is an event of its ConfigMap.
func TestProfilesDescribeServers(t *testing.T) {
	t.Parallel()
	c := described(t)
	profile := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"minikcm.dev/image": ""}}, Data: map[string]string{
		"image": "shop:*", "server": `listen: [{port: '${container.args.flag("port", "8080")}', routes: [{path: /, body: '${pod.name}'}]}]`,
	}}
	bad := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bad", Labels: map[string]string{"minikcm.dev/image": ""}}, Data: map[string]string{"image": "bad:*", "server": "listen: []"}}
	for _, m := range []*corev1.ConfigMap{profile, bad} {
		if _, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.pass(time.Second)
	c.describes("a", "", func(pod *corev1.Pod) {
		pod.Annotations = nil
		pod.Spec.Containers[0].Image, pod.Spec.Containers[0].Args = "shop:1", []string{"--port=80"}
	})
	if got := c.says("client", "curl -s http://a/", time.Second); got != "a" {
		t.Errorf("it answers %q", got)
	}
	c.describes("b", "", func(pod *corev1.Pod) {
		pod.Annotations = nil
		pod.Spec.Containers[0].Image = "bad:1"
	})
	events, err := c.Client().CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=InvalidSimulation"})
	if err != nil || len(events.Items) != 1 || events.Items[0].InvolvedObject.Name != "bad" || events.Items[0].Message != "image profile: server is ignored: listen has no port" {
		t.Errorf("events: %+v, %v", events.Items, err)
	}
}

// The catalog says what common images answer: to each other, too, and unless a profile of the cluster describes the image.
func TestCatalog(t *testing.T) {
	t.Parallel()
	c := described(t)
	image := func(name string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Annotations = nil
			pod.Spec.Containers[0].Image = name
		}
	}
	port := func(service string, number int) {
		t.Helper()
		patch := fmt.Sprintf(`[{"op": "replace", "path": "/spec/ports/0/port", "value": %d}, {"op": "replace", "path": "/spec/ports/0/targetPort", "value": %d}]`, number, number)
		if _, err := c.Client().CoreV1().Services("default").Patch(t.Context(), service, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	own := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "httpd", Labels: map[string]string{"minikcm.dev/image": ""}}, Data: map[string]string{"image": "httpd:*", "http": "80 /* 200 mine"}}
	if _, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), own, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.describes("nginx", "", image("docker.io/library/nginx:1.27.3-alpine"))
	c.describes("httpd", "", image("httpd:2.4"))
	c.describes("whoami", "", image("traefik/whoami"))
	for name, of := range map[string]string{"productpage": "productpage-v1", "details": "details-v1", "reviews": "reviews-v3", "ratings": "ratings-v1"} {
		c.describes(name, "", image("docker.io/istio/examples-bookinfo-"+of+":1.20.3"))
		port(name, 9080)
	}
	c.pass(time.Second)
	nginx, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "nginx", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := c.says("client", strings.ReplaceAll(`
		curl -sI nginx | grep -o '^Server: [a-z0-9/.]*'
		curl -s nginx | grep -E '<title>|^pod|^request'
		curl -s -o /dev/null -w '%{http_code}\n' nginx/nosuch
		curl -s httpd/x
		curl -s 'whoami/a?b=c' | grep -v IP:
		curl -s http://productpage:9080/productpage | grep -o '"stars":5,*\|"color":"[a-z]*"\|"author":"[A-Za-z ]*"' | sort -u
		curl -s http://ratings:9080/ratings/1
		curl -s http://NGINX:9999; echo $?`, "NGINX", nginx.Status.PodIP), time.Minute)
	want := `Server: nginx/1.27.3
<head><title>Welcome to nginx!</title></head>
pod: nginx
request: GET /
404
mine
Hostname: whoami
RemoteAddr: ADDRESS
GET /a?b=c HTTP/1.1
Host: whoami
Accept: */*
User-Agent: curl/8.14.1

"author":"William Shakespeare"
"color":"red"
"stars":5
{"id":1,"ratings":{"Reviewer1":5,"Reviewer2":4}}
7`
	if got = regexp.MustCompile(`RemoteAddr: .*`).ReplaceAllString(got, "RemoteAddr: ADDRESS"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
