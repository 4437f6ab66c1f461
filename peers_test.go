package minikcm_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/utils/exec"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/members"
	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// pair starts two processes on one etcd that serve HTTPS, and returns them with a node that only
// the second one simulates.
func pair(ctx context.Context, t *testing.T) (first, second *minikcm.Cluster, node string) {
	t.Helper()
	etcd := store.EtcdOptions{Endpoints: []string{storetest.StartEtcd(t, storetest.EtcdOptions{})}}
	var all []*minikcm.Cluster
	for range 2 {
		all = append(all, start(t, minikcm.Options{
			Sharing: minikcm.SharingOptions{Etcd: etcd},
			Nodes:   minikcm.NodeOptions{Count: 16, Manage: minikcm.ManageAll},
			Faults:  minikcm.FaultOptions{Store: true},
		}))
	}
	untilRoles(ctx, t, all...)
	runs := strings.Join(all[1].Roles(), " ")
	nodes, err := all[0].Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes.Items {
		if name := nodes.Items[i].Name; strings.Contains(runs, members.ShardRole(members.ShardOf(name))) {
			return all[0], all[1], name
		}
	}
	t.Fatalf("the second process simulates none of %d nodes; it has the roles %s", len(nodes.Items), runs)
	return nil, nil, ""
}

// talker is a pod that logs, and serves HTTP.
func talker(node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "talker", Labels: map[string]string{"app": "talker"},
			Annotations: map[string]string{"minikcm.dev/http": "80 / 200 hello from inside"},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Name: "main", Image: "busybox", Ports: []corev1.ContainerPort{{ContainerPort: 80}},
			Command: []string{"sh", "-c", "while true; do echo tick; sleep 1; done"},
		}}},
	}
}

// remoteClient is a client of a process over HTTPS.
type remoteClient struct {
	*kubernetes.Clientset
	config *rest.Config
}

func remoteTo(t *testing.T, c *minikcm.Cluster) remoteClient {
	t.Helper()
	config, err := c.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return remoteClient{client, config}
}

// run creates a pod and waits until it is ready.
func (c remoteClient) run(ctx context.Context, t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if _, err := c.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := c.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + pod.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if p, ok := event.Object.(*corev1.Pod); ok && p.Status.Phase == corev1.PodRunning {
			return
		}
	}
	t.Fatalf("pod %s does not run: %v", pod.Name, ctx.Err())
}

// exec runs a command in the talker with one of the protocols.
func (c remoteClient) exec(ctx context.Context, protocol string, stdin io.Reader, command ...string) (string, error) {
	request := c.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("talker").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: command, Stdin: stdin != nil, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := c.executor(protocol, request.URL())
	if err != nil {
		return "", err
	}
	var out, errors bytes.Buffer // the streams are copied at the same time
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: &out, Stderr: &errors})
	return out.String() + errors.String(), err
}

func (c remoteClient) executor(protocol string, target *url.URL) (remotecommand.Executor, error) {
	if protocol == "SPDY" {
		return remotecommand.NewSPDYExecutor(c.config, http.MethodPost, target)
	}
	return remotecommand.NewWebSocketExecutor(c.config, http.MethodGet, target.String())
}

// attach returns what the talker writes until there is some, and then calls detach.
func (c remoteClient) attach(ctx context.Context, protocol string, detach func()) (string, error) {
	request := c.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("talker").SubResource("attach").
		VersionedParams(&corev1.PodAttachOptions{Stdout: true}, scheme.ParameterCodec)
	executor, err := c.executor(protocol, request.URL())
	if err != nil {
		return "", err
	}
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: writer})
		_ = writer.Close()
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	detach()
	_ = reader.Close()
	return line, errors.Join(err, <-ended)
}

// untilEndpoint waits until a Service has a ready endpoint: in its Endpoints, which the proxy
// reads, and which another controller writes than the EndpointSlices.
func (c remoteClient) untilEndpoint(ctx context.Context, t *testing.T, service string) {
	t.Helper()
	w, err := c.CoreV1().Endpoints("default").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + service})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		//lint:ignore SA1019 the proxy reads them, as upstream's does
		endpoints, ok := event.Object.(*corev1.Endpoints)
		if ok && len(endpoints.Subsets) > 0 && len(endpoints.Subsets[0].Addresses) > 0 {
			return
		}
	}
	t.Fatalf("Service %s gets no endpoint: %v", service, ctx.Err())
}

// TestContainersOfPeers reaches a pod and a kubelet through the process that does not simulate
// the node.
func TestContainersOfPeers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	first, _, node := pair(ctx, t)
	c := remoteTo(t, first)
	c.run(ctx, t, talker(node))
	pods := c.CoreV1().Pods("default")

	t.Run("logs", func(t *testing.T) {
		stream, err := pods.GetLogs("talker", &corev1.PodLogOptions{Follow: true}).Stream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		lines := bufio.NewScanner(stream)
		for i := range 3 {
			if !lines.Scan() || lines.Text() != "tick" {
				t.Fatalf("line %d is %q, %v", i, lines.Text(), lines.Err())
			}
		}
		// A client in the process, without a socket.
		log, err := first.Client().CoreV1().Pods("default").GetLogs("talker", &corev1.PodLogOptions{}).DoRaw(ctx)
		if err != nil || !strings.HasPrefix(string(log), "tick\n") {
			t.Errorf("the log is %q, %v", log, err)
		}
		log, err = pods.GetLogs("talker", &corev1.PodLogOptions{Previous: true}).DoRaw(ctx)
		if !apierrors.IsBadRequest(err) || !strings.Contains(string(log), "previous terminated container") {
			t.Errorf("the log of a previous run: %q, %v", log, err)
		}
	})
	for _, protocol := range []string{"SPDY", "WebSocket"} {
		t.Run("exec "+protocol, func(t *testing.T) {
			out, err := c.exec(ctx, protocol, strings.NewReader("some\ntext\n"), "sh", "-c", "cat | tr a-z A-Z")
			if out != "SOME\nTEXT\n" || err != nil {
				t.Errorf("exec with input: %q, %v", out, err)
			}
			var exit utilexec.ExitError
			if out, err = c.exec(ctx, protocol, nil, "sh", "-c", "echo out; exit 3"); out != "out\n" || !errors.As(err, &exit) || exit.ExitStatus() != 3 {
				t.Errorf("exec of a failing command: %q, %v", out, err)
			}
			if _, err := c.exec(ctx, protocol, nil, "/tmp/no-such-program"); err == nil || !strings.Contains(err.Error(), "no-such-program") {
				t.Errorf("exec of no program: %v", err)
			}
		})
	}
	for _, protocol := range []string{"SPDY", "WebSocket"} {
		t.Run("attach "+protocol, func(t *testing.T) {
			attached, detach := context.WithCancel(ctx)
			defer detach()
			if out, err := c.attach(attached, protocol, detach); !strings.HasPrefix(out, "tick\n") || !errors.Is(err, context.Canceled) {
				t.Errorf("attached to the talker: %q, %v", out, err)
			}
		})
	}
	t.Run("port-forward", func(t *testing.T) { c.forward(ctx, t) })
	t.Run("proxy", func(t *testing.T) {
		body, err := pods.ProxyGet("", "talker", "80", "/", nil).DoRaw(ctx)
		if err != nil || string(body) != "hello from inside\n" {
			t.Errorf("proxy to the pod: %q, %v", body, err)
		}
		if _, err := c.CoreV1().Services("default").Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "talkers"},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "talker"}, Ports: []corev1.ServicePort{{Port: 8080, TargetPort: intstr.FromInt32(80)}}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.untilEndpoint(ctx, t, "talkers")
		body, err = c.CoreV1().Services("default").ProxyGet("", "talkers", "8080", "/", nil).DoRaw(ctx)
		if err != nil || string(body) != "hello from inside\n" {
			t.Errorf("proxy to the Service: %q, %v", body, err)
		}
		_, err = pods.ProxyGet("", "talker", "81", "/", nil).DoRaw(ctx)
		if !apierrors.IsServiceUnavailable(err) {
			t.Errorf("proxy to a closed port: %v", err)
		}
		body, err = c.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes", node, "proxy/metrics").DoRaw(ctx)
		if err != nil || !strings.Contains(string(body), fmt.Sprintf("kubelet_node_name{node=%q} 1", node)) {
			t.Errorf("metrics of the kubelet: %q, %v", body, err)
		}
	})
	t.Run("unauthorized", func(t *testing.T) {
		config := rest.CopyConfig(c.config)
		config.Impersonate = rest.ImpersonationConfig{UserName: "jane"}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.CoreV1().Pods("default").GetLogs("talker", &corev1.PodLogOptions{}).DoRaw(ctx); !apierrors.IsForbidden(err) {
			t.Errorf("the log for a user without permissions: %v", err)
		}
	})
}

// forward requests the talker's page through a forwarded port.
func (c remoteClient) forward(ctx context.Context, t *testing.T) {
	t.Helper()
	carrier, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		t.Fatal(err)
	}
	request := c.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("talker").SubResource("portforward")
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.New(spdy.NewDialer(upgrader, &http.Client{Transport: carrier}, http.MethodPost, request.URL()),
		[]string{"0:80"}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	defer func() {
		close(stop)
		<-ended
	}()
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("forwarding ended: %v", err)
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	get.Close = true
	response, err := http.DefaultClient.Do(get)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "hello from inside\n" {
		t.Errorf("the forwarded port answers %q, %v", body, err)
	}
}

// A pod answers what it declares to programs on nodes of another process.
func TestPodsOfAnotherProcessAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	first, _, node := pair(ctx, t)
	nodes, err := first.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	own := ""
	for i := range nodes.Items {
		if role := members.ShardRole(members.ShardOf(nodes.Items[i].Name)); strings.Contains(strings.Join(first.Roles(), " "), role) {
			own = nodes.Items[i].Name
		}
	}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "page"}, Data: map[string]string{"index.html": "from a file\n"}}
	if _, err := first.Client().CoreV1().ConfigMaps("default").Create(ctx, settings, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	server := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "server", Annotations: map[string]string{
		"minikcm.dev/http": "8080 /hello 200 declared\n8080 /* files /www", "minikcm.dev/server": "listen: [{port: 8081, routes: [{path: /x, body: \"${request.path}\"}]}]",
	}}, Spec: corev1.PodSpec{
		NodeName: node, Volumes: []corev1.Volume{{Name: "www", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "page"}}}}},
		Containers: []corev1.Container{{Name: "main", Image: "server", VolumeMounts: []corev1.VolumeMount{{Name: "www", MountPath: "/www"}}}},
	}}
	c := remoteTo(t, first)
	c.run(ctx, t, server)
	c.run(ctx, t, talker(own))
	pod, err := c.CoreV1().Pods("default").Get(ctx, "server", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{":8080/hello": "declared\n", ":8080/": "from a file\n", ":8081/x": "/x"} {
		if got, err := c.exec(ctx, "WebSocket", nil, "wget", "-qO-", pod.Status.PodIP+path); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
}
