package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/containerpaths"
	"minikcm.dev/minikcm/internal/outside"
	"minikcm.dev/minikcm/internal/runner"
	"minikcm.dev/minikcm/minikcmtest"
)

func TestMain(m *testing.M) {
	containerpaths.Enter()
	// client-go's heartbeat of a WebSocket whose context ended runs until its next ping, 5 s later.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/client-go/tools/remotecommand.(*heartbeat).start"))
}

// transcript collects the output of the command and the runner.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
	// changed is closed and replaced when text grows.
	changed chan struct{}
}

func (tr *transcript) Write(p []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	close(tr.changed)
	tr.changed = make(chan struct{})
	return tr.text.Write(p)
}

// waitFor waits until the transcript has a text several times.
func (tr *transcript) waitFor(t *testing.T, text string, times int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		tr.mu.Lock()
		got, changed := tr.text.String(), tr.changed
		tr.mu.Unlock()
		if strings.Count(got, text) >= times {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("the output does not have %q %d times:\n%s", text, times, got)
		}
	}
}

// patience limits the wait for an expected output.
const patience = 30 * time.Second

func (tr *transcript) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.text.String()
}

// fixture is a cluster with a Deployment whose pods are simulated.
type fixture struct {
	*minikcmtest.Cluster
	t      *testing.T
	client kubernetes.Interface
	out    *transcript
	opts   runner.Options
	dir    string
	done   chan error
}

func newFixture(t *testing.T, replicas int32) *fixture {
	t.Helper()
	c := minikcmtest.New(t, minikcmtest.WithHTTPS(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.API.Extensions = []minikcm.Extension{outside.Extension(outside.Options{})}
	}))
	config, err := c.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Cluster: c, t: t, client: c.Client(), out: &transcript{changed: make(chan struct{})}, dir: t.TempDir()}
	f.opts = runner.Options{
		Config: config, Namespace: "default", Deployment: "web", Out: f.out, ErrOut: f.out, Clock: clock.Real(),
		Say: func(message string) { _, _ = fmt.Fprintln(f.out, "# "+message) },
		Exit: func(_ context.Context, pod types.NamespacedName, container string, code int) error {
			return c.Kubelets().CrashContainer(pod, container, int32(code))
		},
	}
	labels := map[string]string{"app": "web"}
	ctx := t.Context()
	_, cmErr := f.client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"color": "red"}}, metav1.CreateOptions{})
	_, dErr := f.client.AppsV1().Deployments("default").Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "web", Image: "example.com/web", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
				Env:          []corev1.EnvVar{{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
				VolumeMounts: []corev1.VolumeMount{{Name: "settings", MountPath: "/etc/web"}},
			}},
			Volumes: []corev1.Volume{{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}},
		}},
	}}, metav1.CreateOptions{})
	_, sErr := f.client.CoreV1().Services("default").Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"minikcm.dev/host": "127.0.0.1:1"}},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err := errors.Join(cmErr, dErr, sErr); err != nil {
		t.Fatal(err)
	}
	return f
}

// run runs a script until stop is called, which returns the error.
func (f *fixture) run(script string) (stop func() error) {
	f.t.Helper()
	f.opts.Command = []string{"sh", "-c", strings.ReplaceAll(script, "DIR", f.dir)}
	ctx, cancel := context.WithCancel(f.t.Context())
	f.done = make(chan error, 1)
	go func() {
		f.done <- runner.Run(ctx, f.opts)
		close(f.done)
	}()
	stop = func() error {
		cancel()
		return <-f.done
	}
	f.t.Cleanup(func() { _ = stop() }) // again, perhaps
	return stop
}

func (f *fixture) wantOutput(texts ...string) {
	f.t.Helper()
	for _, text := range texts {
		f.out.waitFor(f.t, text, 1)
	}
}

// pod returns the pod that the command stands for.
func (f *fixture) pod() *corev1.Pod {
	f.t.Helper()
	pods, err := f.client.CoreV1().Pods("default").List(f.t.Context(), metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	for i := range pods.Items {
		if pods.Items[i].Annotations[runner.ProcessAnnotation] != "" && pods.Items[i].DeletionTimestamp == nil {
			return &pods.Items[i]
		}
	}
	f.t.Fatalf("no pod is marked\n%s", f.out)
	return nil
}

// touch makes a file that the script looks for.
func (f *fixture) touch(name string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), nil, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) wantHost(want string) {
	f.t.Helper()
	f.Eventually("the Service to lead to "+want, func(ctx context.Context, client kubernetes.Interface) error {
		service, err := client.CoreV1().Services("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && service.Annotations["minikcm.dev/host"] != want {
			err = fmt.Errorf("it leads to %q", service.Annotations["minikcm.dev/host"])
		}
		return err
	})
}

// The command gets the container's environment and files, follows changes of the files, and ends as
// the container does.
func TestRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	f.opts.Ports = map[int32]int32{80: 18080}
	stop := f.run(`trap 'echo terminated; exit 0' TERM; echo "pod $POD color $(cat "$MINIKCM_ROOT/etc/web/color") token $(test -s "$MINIKCM_ROOT/var/run/secrets/kubernetes.io/serviceaccount/token" && echo yes)"
grep -c "tokenFile: $MINIKCM_ROOT/var/run" "$KUBECONFIG" >/dev/null && echo kubeconfig
while [ ! -e DIR/exit ]; do color=$(cat "$MINIKCM_ROOT/etc/web/color"); [ "$color" = "$last" ] || echo "now $color"; last=$color; sleep 0.05; done; rm DIR/exit; exit 3`)
	f.wantOutput("color red token yes", "kubeconfig", "now red")
	f.wantHost("127.0.0.1:18080")
	pod := f.pod()
	f.wantOutput("pod " + pod.Name)
	if _, err := f.client.CoreV1().ConfigMaps("default").Patch(t.Context(), "settings", types.MergePatchType, []byte(`{"data":{"color":"blue"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	f.wantOutput("now blue")

	f.touch("exit")
	f.Eventually("the container to be restarted after exit code 3", func(ctx context.Context, client kubernetes.Interface) error {
		pod, err := client.CoreV1().Pods("default").Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if c := pod.Status.ContainerStatuses[0]; c.State.Running == nil || c.LastTerminationState.Terminated == nil || c.LastTerminationState.Terminated.ExitCode != 3 {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	})
	data, err := f.client.CoreV1().Pods("default").GetLogs(pod.Name, &corev1.PodLogOptions{Previous: true}).DoRaw(t.Context())
	if err != nil || !strings.Contains(string(data), "now blue\n") {
		t.Errorf("the log is %q, %v", data, err)
	}
	f.wantOutput("color blue token yes")

	if err := f.client.CoreV1().Pods("default").Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.wantOutput("terminated")
	f.out.waitFor(t, "token yes", 3)
	next := f.pod().Name
	if next == pod.Name {
		t.Errorf("pod/%s is still marked", next)
	}
	if err := stop(); err != nil {
		t.Errorf("%v\n%s", err, f.out)
	}
	f.wantHost("127.0.0.1:1")
	left, err := f.client.CoreV1().Pods("default").Get(t.Context(), next, metav1.GetOptions{})
	if err != nil || left.Annotations[runner.ProcessAnnotation] != "" || left.Status.ContainerStatuses[0].State.Running == nil {
		t.Errorf("the pod that is left: %+v, %v", left.Annotations, err)
	}
}

// The command finds the container's volumes at their paths, and follows their changes there.
func TestRunShowsVolumesAtTheirPaths(t *testing.T) {
	t.Parallel()
	probe := exec.CommandContext(t.Context(), "true")
	if err := errors.Join(containerpaths.Show(probe, t.TempDir(), nil), probe.Run()); err != nil {
		t.Skipf("no right to mount: %v", err)
	}
	f := newFixture(t, 1)
	f.opts.ContainerPaths = true
	_, err := f.client.AppsV1().Deployments("default").Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{
		"volumes":[{"name":"work","emptyDir":{}}],
		"containers":[{"name":"web","volumeMounts":[{"name":"settings","mountPath":"/etc/web"},{"name":"work","mountPath":"/minikcm-test/work"}]}]}}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.run(`echo "color $(cat /etc/web/color) namespace $(cat /var/run/secrets/kubernetes.io/serviceaccount/namespace)"
touch /minikcm-test/work/file && test -e "$MINIKCM_ROOT/minikcm-test/work/file" && echo written
until [ "$(cat /etc/web/color)" = blue ]; do sleep 0.05; done; echo "now blue"; exec sleep 3600`)
	f.wantOutput("color red namespace default", "written")
	if _, err := f.client.CoreV1().ConfigMaps("default").Patch(t.Context(), "settings", types.MergePatchType, []byte(`{"data":{"color":"blue"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	f.wantOutput("now blue")
}

// The pod is ready when what listens at the command's port answers the probes, and the probes are
// simulated before and after.
func TestRunAnswersProbes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	var healthy atomic.Bool
	var asked atomic.Pointer[http.Request]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) {
		asked.Store(rq)
		if !healthy.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	_, err := f.client.AppsV1().Deployments("default").Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"containers":[
		{"name":"web","readinessProbe":{"httpGet":{"path":"/ready?verbose=1","port":8081,"httpHeaders":[{"name":"Host","value":"web.example.com"}]},"periodSeconds":1}}]}}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.wantReady("by the simulation", true)
	f.opts.Ports = map[int32]int32{8081: int32(server.Listener.Addr().(*net.TCPAddr).Port)}
	stop := f.run("while :; do sleep 0.1; done")
	f.wantOutput("# sh runs in place of container web")
	f.wantReady("by a command that is unhealthy", false)
	healthy.Store(true)
	f.wantReady("by a healthy command", true)
	if rq := asked.Load(); rq.URL.String() != "/ready?verbose=1" || rq.Host != "web.example.com" || !strings.HasPrefix(rq.UserAgent(), "kube-probe/") {
		t.Errorf("the probe is %s of %s by %s", rq.URL, rq.Host, rq.UserAgent())
	}
	healthy.Store(false)
	f.wantReady("by a command that became unhealthy", false)
	if err := stop(); err != nil {
		t.Errorf("%v\n%s", err, f.out)
	}
	f.wantReady("by the simulation again", true)
}

// The command answers in place of its pod: at the pod's address and through its Service, under policies, and with port-forward and the
// proxy subresource.
func TestRunBelongsToTheNetwork(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "the process, asked for %s%s\n", r.Host, r.URL.Path)
	}))
	defer server.Close()
	port := int32(server.Listener.Addr().(*net.TCPAddr).Port)
	f.opts.Ports = map[int32]int32{80: port, 8080: port}
	ctx := t.Context()
	client := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "client"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox", Command: []string{"sleep", "infinity"}}}}}
	if _, err := f.client.CoreV1().Pods("default").Create(ctx, client, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stop := f.run("while :; do sleep 0.1; done")
	f.wantOutput("# sh runs in place of container web")
	f.wantHost(fmt.Sprintf("127.0.0.1:%d", port))
	pod := f.pod()
	f.wantAnswer("wget -qO- http://web/a", "the process, asked for web/a\n")
	f.wantAnswer("curl -s http://"+pod.Status.PodIP+":8080/b", "the process, asked for "+pod.Status.PodIP+":8080/b\n")
	f.wantAnswer("printf 'GET /c HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n' | nc web 80 | tail -1", "the process, asked for x/c\n")
	data, err := f.client.CoreV1().Pods("default").ProxyGet("http", pod.Name, "8080", "/d", nil).DoRaw(ctx)
	if err != nil || !strings.Contains(string(data), "/d") {
		t.Errorf("the proxy subresource answers %q, %v", data, err)
	}
	deny := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "deny"}, Spec: networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	if _, err := f.client.NetworkingV1().NetworkPolicies("default").Create(ctx, deny, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.wantAnswer("wget -qT1 -O- http://web/a 2>&1", "wget: download timed out\n")
	if err := f.client.NetworkingV1().NetworkPolicies("default").Delete(ctx, "deny", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	server.Close()
	f.wantAnswer("wget -qO- http://web/a 2>&1 | sed 's/([^)]*)//'", "wget: can't connect to remote host : Connection refused\n")
	if err := stop(); err != nil {
		t.Errorf("%v\n%s", err, f.out)
	}
	if left, err := f.client.CoreV1().Pods("default").Get(ctx, pod.Name, metav1.GetOptions{}); err != nil || left.Annotations["minikcm.dev/host"] != "" {
		t.Errorf("the pod that is left: %v, %v", left.Annotations, err)
	}
}

// The command reaches the network through its proxy, as its pod, if it knows the password.
func TestRunConnectsAsItsPod(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	ctx := t.Context()
	db := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db", Labels: map[string]string{"app": "db"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/db"}}}}
	_, podErr := f.client.CoreV1().Pods("default").Create(ctx, db, metav1.CreateOptions{})
	_, serviceErr := f.client.CoreV1().Services("default").Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: corev1.ServiceSpec{Selector: db.Labels, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err := errors.Join(podErr, serviceErr); err != nil {
		t.Fatal(err)
	}
	stop := f.run(`echo "proxy [$HTTP_PROXY] [$https_proxy] [$ALL_PROXY] [$NO_PROXY] end"; while :; do sleep 0.1; done`)
	f.wantOutput("] end")
	pod := f.pod()
	_, rest, _ := strings.Cut(f.out.String(), "proxy [")
	variables := strings.Split(strings.Split(rest, "] end")[0], "] [")
	server, err := url.Parse(f.opts.Config.Host)
	if err != nil || len(variables) != 4 || variables[0] != variables[1] || !strings.HasPrefix(variables[2], "socks5h://pod:") || !strings.Contains(variables[3], server.Hostname()) {
		t.Fatalf("the variables are %q, %v", variables, err)
	}
	wrong, err := url.Parse(variables[0])
	if err != nil {
		t.Fatal(err)
	}
	wrong.User = url.UserPassword("pod", "guess")
	wrongSocks := url.URL{Scheme: "socks5h", Host: wrong.Host, User: wrong.User}
	get := func(proxy, address string) string {
		at, err := url.Parse(proxy)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{Proxy: http.ProxyURL(at), DisableKeepAlives: true}
		rq, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		rs, err := transport.RoundTrip(rq)
		if err != nil {
			return err.Error()
		}
		defer rs.Body.Close() // it is read
		body, err := io.ReadAll(rs.Body)
		return fmt.Sprint(rs.StatusCode, " ", string(body), err)
	}
	f.Eventually("db to be ready", func(context.Context, kubernetes.Interface) error {
		if got := get(variables[0], "http://db/"); !strings.HasPrefix(got, "200") {
			return errors.New(got)
		}
		return nil
	})
	seen := "client: " + pod.Status.PodIP + "\n"
	for _, tt := range []struct{ name, proxy, url, want string }{
		{"HTTP", variables[0], "http://db.default.svc/", seen},
		{"SOCKS5", variables[2], "http://db/", seen},
		{"no such name", variables[0], "http://nosuch/", "502 minikcm: nosuch:80: Name or service not known"},
		{"a wrong password", wrong.String(), "http://db/", "407 "},
		{"a wrong password for SOCKS5", wrongSocks.String(), "http://db/", "username/password authentication failed"},
		{"CONNECT with a wrong password", wrong.String(), "https://db/", "Proxy Authentication Required"},
	} {
		if got := get(tt.proxy, tt.url); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	deny := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "deny"}, Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}}}
	if _, err := f.client.NetworkingV1().NetworkPolicies("default").Create(ctx, deny, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.Eventually("the policy to deny", func(context.Context, kubernetes.Interface) error {
		ip := "http://" + pod.Status.PodIP[:strings.LastIndex(pod.Status.PodIP, ".")] + ".250/"
		if got := get(variables[0], ip); !strings.Contains(got, "504 minikcm: ") || !strings.Contains(got, "NetworkPolicies deny the egress") {
			return errors.New(got)
		}
		return nil
	})
	if err := stop(); err != nil {
		t.Errorf("%v\n%s", err, f.out)
	}
}

// wantAnswer waits until a script in the pod client has an output.
func (f *fixture) wantAnswer(script, want string) {
	f.t.Helper()
	client, err := kubernetes.NewForConfig(f.opts.Config)
	if err != nil {
		f.t.Fatal(err)
	}
	f.Eventually("the output of "+script, func(ctx context.Context, _ kubernetes.Interface) error {
		rq := client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("client").SubResource("exec").
			VersionedParams(&corev1.PodExecOptions{Command: []string{"sh", "-c", script}, Stdout: true}, scheme.ParameterCodec)
		executor, err := remotecommand.NewWebSocketExecutor(f.opts.Config, http.MethodGet, rq.URL().String())
		if err != nil {
			return err
		}
		var out bytes.Buffer
		err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out})
		if out.String() != want {
			return fmt.Errorf("got %q, %v; want %q", &out, err, want)
		}
		return nil
	})
}

// wantReady waits until the only pod is ready, or is not.
func (f *fixture) wantReady(what string, want bool) {
	f.t.Helper()
	f.Eventually("the pod's readiness "+what, func(ctx context.Context, client kubernetes.Interface) error {
		pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(pods.Items) != 1 || len(pods.Items[0].Status.ContainerStatuses) != 1 || pods.Items[0].Status.ContainerStatuses[0].Ready != want || pods.Items[0].Spec.Containers[0].ReadinessProbe == nil {
			return fmt.Errorf("%d pods, want one whose readiness is %v", len(pods.Items), want)
		}
		return nil
	})
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	f.run("while :; do sleep 0.1; done")
	f.wantOutput("# sh runs in place of container web")
	other := f.opts
	other.Command = []string{"sh"}
	wantError := func(what, want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	wantError("a second command", "runs a command in place of pod/"+f.pod().Name, runner.Run(t.Context(), other))
	other.Container = "none"
	wantError("no such container", `deployment/web has no container "none"`, runner.Run(t.Context(), other))
	other.Deployment = "none"
	if err := runner.Run(t.Context(), other); !apierrors.IsNotFound(err) {
		t.Errorf("no such Deployment: %v", err)
	}
	other.Command = []string{"no-such-command"}
	wantError("no such command", `cannot run the command "no-such-command"`, runner.Run(t.Context(), other))
	if err := f.client.AppsV1().Deployments("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wantError("a deleted Deployment", "deployment/web was deleted", <-f.done)
}
