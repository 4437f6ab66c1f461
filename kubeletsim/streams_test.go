package kubeletsim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/utils/exec"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

// streamCluster is a cluster that clients reach through its socket.
type streamCluster struct {
	*minikcmtest.Cluster
	t      *testing.T
	config *rest.Config
	client *kubernetes.Clientset
}

func newStreamCluster(t *testing.T, opts ...minikcmtest.Option) *streamCluster {
	t.Helper()
	c := minikcmtest.New(t, append(opts, minikcmtest.WithHTTPS())...)
	config, err := c.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &streamCluster{Cluster: c, t: t, config: config, client: client}
}

// run creates a pod and waits until it is ready.
func (c *streamCluster) run(pod *corev1.Pod) {
	c.t.Helper()
	if _, err := c.client.CoreV1().Pods("default").Create(c.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	c.Eventually("the pod to run", func(ctx context.Context, client kubernetes.Interface) error {
		got, err := client.CoreV1().Pods("default").Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("it is %s", got.Status.Phase)
		}
		return nil
	})
}

func podNamed(name string, change ...func(pod *corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}},
	}
	for _, do := range change {
		do(pod)
	}
	return pod
}

// dialer makes an executor for one of the protocols.
type dialer struct {
	name string
	dial func(config *rest.Config, request *rest.Request) (remotecommand.Executor, error)
}

func dialers() []dialer {
	return []dialer{
		{"WebSocket", func(config *rest.Config, request *rest.Request) (remotecommand.Executor, error) {
			return remotecommand.NewWebSocketExecutor(config, "GET", request.URL().String())
		}},
		{"WebSocket v4", func(config *rest.Config, request *rest.Request) (remotecommand.Executor, error) {
			return remotecommand.NewWebSocketExecutorForProtocols(config, "GET", request.URL().String(), "v4.channel.k8s.io")
		}},
		{"SPDY", func(config *rest.Config, request *rest.Request) (remotecommand.Executor, error) {
			return remotecommand.NewSPDYExecutor(config, "POST", request.URL())
		}},
		{"SPDY v3", func(config *rest.Config, request *rest.Request) (remotecommand.Executor, error) {
			transport, upgrader, err := spdy.RoundTripperFor(config)
			if err != nil {
				return nil, err
			}
			return remotecommand.NewSPDYExecutorForProtocols(transport, upgrader, "POST", request.URL(), "v3.channel.k8s.io", "v2.channel.k8s.io")
		}},
	}
}

type result struct {
	out, err string
	code     int
	failure  error
}

// exec runs a command; stdin nil is none.
func (c *streamCluster) exec(dial dialer, pod, container string, stdin io.Reader, command ...string) result {
	c.t.Helper()
	request := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdin: stdin != nil, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	return c.stream(dial, request, remotecommand.StreamOptions{Stdin: stdin})
}

func (c *streamCluster) stream(dial dialer, request *rest.Request, streams remotecommand.StreamOptions) result {
	c.t.Helper()
	executor, err := dial.dial(c.config, request)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	var out, errOut bytes.Buffer
	if streams.Stdout == nil {
		streams.Stdout = &out
	}
	if !streams.Tty {
		streams.Stderr = &errOut
	}
	r := result{failure: executor.StreamWithContext(ctx, streams)}
	var exit utilexec.ExitError
	if errors.As(r.failure, &exit) {
		r.code, r.failure = exit.ExitStatus(), nil
	}
	r.out, r.err = out.String(), errOut.String()
	return r
}

func TestExec(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"color": "blue"}}
	if _, err := c.client.CoreV1().ConfigMaps("default").Create(t.Context(), settings, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.run(podNamed("web", func(pod *corev1.Pod) {
		named := corev1.LocalObjectReference{Name: "settings"}
		pod.Labels = map[string]string{"app": "web"}
		pod.Spec.Volumes = []corev1.Volume{
			{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named}}},
			{Name: "shared", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "about", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
			}}}},
		}
		main := &pod.Spec.Containers[0]
		main.Env = []corev1.EnvVar{{Name: "COLOR", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: named, Key: "color"}}}}
		main.VolumeMounts = []corev1.VolumeMount{{Name: "settings", MountPath: "/settings"}, {Name: "shared", MountPath: "/shared"}, {Name: "about", MountPath: "/about"}}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "side", Image: "busybox", VolumeMounts: []corev1.VolumeMount{{Name: "shared", MountPath: "/in"}}})
	}))
	for _, dial := range dialers() {
		t.Run(dial.name, func(t *testing.T) { testExec(t, c, dial) })
	}
}

func testExec(t *testing.T, c *streamCluster, dial dialer) {
	plain := dial.name == "SPDY v3" // which has no exit codes
	for _, tt := range []struct {
		container, stdin string
		command          []string
		want             result
		failure          string
	}{
		{container: "main", command: []string{"echo", "hi"}, want: result{out: "hi\n"}},
		{container: "main", command: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}, want: result{out: "out\n", err: "err\n", code: 3}, failure: "exit code 3"},
		{container: "main", command: []string{"sh", "-c", "echo $COLOR $HOSTNAME; cat /settings/color /about/labels"}, want: result{out: "blue web\nblueapp=\"web\""}},
		{container: "main", command: []string{"sh", "-c", "cat | tr a-z A-Z"}, stdin: "some\ntext\n", want: result{out: "SOME\nTEXT\n"}},
		{container: "main", command: []string{"sh", "-c", "echo kept > /shared/x; echo lost > /tmp/x"}},
		{container: "side", command: []string{"sh", "-c", "cat /in/x; ls /tmp/x 2>/dev/null"}, want: result{out: "kept\n", code: 1}, failure: "exit code 1"},
		{container: "main", command: []string{"nginx", "-v"}, want: result{err: "minikcm: assumed that nginx succeeds\n"}}, // the image may have it
		{container: "main", command: []string{"/shared/none"}, failure: `OCI runtime exec failed: exec failed: unable to start container process: exec: "/shared/none": stat /shared/none: no such file or directory`},
		{container: "nope", command: []string{"ls"}, failure: "container nope is not valid for pod web"},
		{container: "", command: []string{"ls"}, failure: "a container name must be specified for pod web, choose one of: [main side]"},
	} {
		var stdin io.Reader
		if tt.stdin != "" {
			stdin = strings.NewReader(tt.stdin)
		}
		if dial.name == "WebSocket v4" && stdin != nil {
			continue // its protocol cannot signal the end of input
		}
		got := c.exec(dial, "web", tt.container, stdin, tt.command...)
		if plain {
			tt.want.code = 0
		}
		if tt.failure != "" && (tt.want.code == 0) {
			if got.failure == nil || !strings.Contains(got.failure.Error(), tt.failure) {
				t.Errorf("%q: got %v, want %s", tt.command, got.failure, tt.failure)
			}
			got.failure = nil
		}
		if got != tt.want {
			t.Errorf("%q: got %+v, want %+v", tt.command, got, tt.want)
		}
	}
}

// What is not there, or does not run, is answered as upstream's apiserver and kubelet
// answer it.
func TestExecRefused(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	c.run(podNamed("twice", func(pod *corev1.Pod) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "ended", Image: "busybox", Command: []string{"true"}})
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	}))
	nowhere := podNamed("nowhere", func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"no": "such"} })
	if _, err := c.client.CoreV1().Pods("default").Create(t.Context(), nowhere, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, dial := range dialers() {
		for _, tt := range []struct{ pod, container, want string }{
			{"none", "main", `pods "none" not found`},
			{"nowhere", "main", "pod nowhere does not have a host assigned"},
			{"twice", "ended", `container not found ("ended")`},
		} {
			got := c.exec(dial, tt.pod, tt.container, nil, "ls")
			// Of a failed handshake, clients over WebSocket show the code only.
			if got.failure == nil || !strings.HasPrefix(dial.name, "WebSocket") && !strings.Contains(got.failure.Error(), tt.want) {
				t.Errorf("%s: pod %s: got %v, want %s", dial.name, tt.pod, got.failure, tt.want)
			}
		}
	}
}

// screen holds the text that a client's terminal shows.
type screen struct {
	mu      sync.Mutex
	text    string
	changed chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.text += string(p)
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return len(p), nil
}

// waitFor returns when the text has come, and forgets it and all before it.
func (s *screen) waitFor(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		s.mu.Lock()
		_, after, found := strings.Cut(s.text, text)
		if found {
			s.text = after
		}
		shown := s.text
		s.mu.Unlock()
		if found {
			return
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			t.Fatalf("waiting for %q, the terminal shows %q", text, shown)
		}
	}
}

// twoSizes resizes the terminal once.
type twoSizes struct{ given int }

func (s *twoSizes) Next() *remotecommand.TerminalSize {
	s.given++
	switch s.given {
	case 1:
		return &remotecommand.TerminalSize{Width: 80, Height: 25}
	case 2:
		return &remotecommand.TerminalSize{Width: 132, Height: 43}
	}
	return nil
}

// A shell on a terminal knows its size, prompts, and ends with exit.
func TestExecTerminal(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	c.run(podNamed("web"))
	for _, dial := range dialers() {
		request := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("web").SubResource("exec").
			VersionedParams(&corev1.PodExecOptions{Command: []string{"sh"}, Stdin: true, Stdout: true, TTY: true}, scheme.ParameterCodec)
		keys, typed := io.Pipe()
		shown := &screen{changed: make(chan struct{}, 1)}
		done := make(chan result)
		go func() {
			done <- c.stream(dial, request, remotecommand.StreamOptions{Stdin: keys, Stdout: shown, Tty: true, TerminalSizeQueue: &twoSizes{}})
		}()
		shown.waitFor(t, "/ # ")
		send := func(text string) {
			if _, err := io.WriteString(typed, text); err != nil {
				t.Fatal(err)
			}
		}
		send("until [ \"$(stty size)\" = '43 132' ]; do sleep 0.01; done; echo sized\r")
		shown.waitFor(t, "\r\nsized\r\n/ # ")
		send("exit 7\r")
		got := <-done
		_ = typed.Close()
		if got.code != 7 && dial.name != "SPDY v3" {
			t.Errorf("%s: got %+v", dial.name, got)
		}
	}
}

// When the container ends, what was started in it does too.
func TestExecEndsWithContainer(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	c.run(podNamed("web"))
	got := c.exec(dialers()[0], "web", "main", nil, "sh", "-c", "kill 1; sleep 1000")
	if got.code != 137 {
		t.Errorf("got %+v", got)
	}
	c.Eventually("the container to be restarted", func(ctx context.Context, client kubernetes.Interface) error {
		pod, err := client.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if s := pod.Status.ContainerStatuses; len(s) != 1 || s[0].RestartCount != 1 || s[0].State.Running == nil {
			return fmt.Errorf("its status is %+v", s)
		}
		return nil
	})
}

// A container with a terminal and no command runs a shell, which attached clients use, and
// which ends the container.
func TestAttachConsole(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	for _, dial := range dialers() {
		name := strings.ReplaceAll(strings.ToLower(dial.name), " ", "-")
		c.run(podNamed(name, func(pod *corev1.Pod) {
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			main := &pod.Spec.Containers[0]
			main.Stdin, main.StdinOnce, main.TTY = true, true, true
		}))
		request := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name(name).SubResource("attach").
			VersionedParams(&corev1.PodAttachOptions{Stdin: true, Stdout: true, TTY: true}, scheme.ParameterCodec)
		keys, typed := io.Pipe()
		shown := &screen{changed: make(chan struct{}, 1)}
		done := make(chan result)
		go func() {
			done <- c.stream(dial, request, remotecommand.StreamOptions{Stdin: keys, Stdout: shown, Tty: true})
		}()
		shown.waitFor(t, "/ # ")
		if _, err := io.WriteString(typed, "exit 9\r"); err != nil {
			t.Fatal(err)
		}
		if got := <-done; got.failure != nil {
			t.Errorf("%s: %+v", dial.name, got)
		}
		_ = typed.Close()
		c.Eventually("the pod to fail", func(ctx context.Context, client kubernetes.Interface) error {
			pod, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if ended := pod.Status.ContainerStatuses[0].State.Terminated; ended == nil || ended.ExitCode != 9 || pod.Status.Phase != corev1.PodFailed {
				return fmt.Errorf("it is %s: %+v", pod.Status.Phase, pod.Status.ContainerStatuses[0].State)
			}
			return nil
		})
		if log, err := c.client.CoreV1().Pods("default").GetLogs(name, &corev1.PodLogOptions{}).DoRaw(t.Context()); err != nil || len(log) > 0 {
			t.Errorf("the log of %s is %q, %v", dial.name, log, err)
		}
	}
}

// A client that attaches to any other container sees its output from then on, until its end.
func TestAttachLog(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	for _, dial := range dialers() {
		name := strings.ReplaceAll(strings.ToLower(dial.name), " ", "-")
		c.run(podNamed(name, func(pod *corev1.Pod) {
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			pod.Spec.Containers[0].Command = []string{"sh", "-c", "echo before; sleep 2; echo out; echo err >&2; sleep 0.1"}
		}))
		request := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name(name).SubResource("attach").
			VersionedParams(&corev1.PodAttachOptions{Stdout: true, Stderr: true}, scheme.ParameterCodec)
		got := c.stream(dial, request, remotecommand.StreamOptions{})
		// The machine may be so slow that the container has ended by then.
		if got.failure == nil && (got.out != "out\n" && got.out != "" || got.err != "err\n" && got.err != "") {
			t.Errorf("%s: got %+v", dial.name, got)
		}
	}
}

// An open shell does not hold virtual time, and what sleeps in it sleeps on the cluster's
// clock.
func TestExecInVirtualTime(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t, minikcmtest.WithVirtualTime())
	c.run(podNamed("web"))
	request := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("web").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"sh"}, Stdin: true, Stdout: true, TTY: true}, scheme.ParameterCodec)
	keys, typed := io.Pipe()
	defer typed.Close() // the shell has ended
	shown := &screen{changed: make(chan struct{}, 1)}
	done := make(chan result)
	go func() {
		done <- c.stream(dialers()[0], request, remotecommand.StreamOptions{Stdin: keys, Stdout: shown, Tty: true})
	}()
	shown.waitFor(t, "/ # ")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Advance(ctx, time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(typed, "a=$(date +%s); sleep 7200; echo slept $(( $(date +%s) - a ))\r"); err != nil {
		t.Fatal(err)
	}
	shown.waitFor(t, "\r\n") // it has been typed, and may sleep already
	for ended := false; !ended; {
		if err := c.Advance(ctx, time.Hour); err != nil {
			t.Fatal(err)
		}
		shown.mu.Lock()
		ended = strings.Contains(shown.text, "slept 7200\r\n")
		shown.mu.Unlock()
	}
	if _, err := io.WriteString(typed, "exit\r"); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.failure != nil || got.code != 0 {
		t.Errorf("got %+v", got)
	}
}

// A debugging container is a shell that one attaches to, and that sees its target.
func TestEphemeralContainer(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	c.run(podNamed("web"))
	pods := c.client.CoreV1().Pods("default")
	pod, err := pods.Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "busybox", Stdin: true, TTY: true}, TargetContainerName: "main",
	}}
	if _, err := pods.UpdateEphemeralContainers(t.Context(), "web", pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	is := func(state func(corev1.ContainerState) bool) func(ctx context.Context, client kubernetes.Interface) error {
		return func(ctx context.Context, client kubernetes.Interface) error {
			pod, err := client.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if s := pod.Status.EphemeralContainerStatuses; len(s) != 1 || !state(s[0].State) {
				return fmt.Errorf("its status is %+v", s)
			}
			return nil
		}
	}
	c.Eventually("the debugging container to run", is(func(s corev1.ContainerState) bool { return s.Running != nil }))
	request := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("web").SubResource("attach").
		VersionedParams(&corev1.PodAttachOptions{Container: "debug", Stdin: true, Stdout: true, TTY: true}, scheme.ParameterCodec)
	keys, typed := io.Pipe()
	shown := &screen{changed: make(chan struct{}, 1)}
	done := make(chan result)
	go func() {
		done <- c.stream(dialers()[0], request, remotecommand.StreamOptions{Stdin: keys, Stdout: shown, Tty: true})
	}()
	shown.waitFor(t, "/ # ")
	if _, err := io.WriteString(typed, "ps; exit 2\r"); err != nil {
		t.Fatal(err)
	}
	shown.waitFor(t, "1 root      0:00 nginx")
	if got := <-done; got.failure != nil {
		t.Errorf("got %+v", got)
	}
	_ = typed.Close()
	c.Eventually("the debugging container to end", is(func(s corev1.ContainerState) bool { return s.Terminated != nil && s.Terminated.ExitCode == 2 }))
}

// The end of the cluster is the end of what is open.
func TestStreamsEndWithCluster(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	c.run(podNamed("web", func(pod *corev1.Pod) { pod.Spec.Containers[0].Stdin, pod.Spec.Containers[0].TTY = true, true }))
	var open sync.WaitGroup
	for _, sub := range []string{"exec", "attach"} {
		request := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("web").SubResource(sub).
			VersionedParams(&corev1.PodExecOptions{Command: []string{"sh"}, Stdin: true, Stdout: true, TTY: true}, scheme.ParameterCodec)
		for _, dial := range dialers() {
			keys, typed := io.Pipe()
			shown := &screen{changed: make(chan struct{}, 1)}
			open.Go(func() {
				_ = c.stream(dial, request, remotecommand.StreamOptions{Stdin: keys, Stdout: shown, Tty: true})
				_ = typed.Close()
			})
			if sub == "exec" || dial.name == "WebSocket" { // the prompt of the other is there already
				shown.waitFor(t, "/ # ")
			}
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	open.Wait()
}

// Commands reach the output of a container whose command is unknown as a process's files.
func TestOutputOfProcess(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t, minikcmtest.WithFeatureGate("PodLogsQuerySplitStreams", true))
	c.run(podNamed("web"))
	c.run(podNamed("known", func(pod *corev1.Pod) { pod.Spec.Containers[0].Command = []string{"sleep", "1000"} }))
	dial := dialers()[0]
	if got := c.exec(dial, "web", "", strings.NewReader("one\ntwo\n"), "sh", "-c", "cat > /proc/1/fd/1; echo three > /proc/1/fd/2"); got.failure != nil || got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := c.exec(dial, "web", "", nil, "env", "-i", "-0", "A=x\ny", "B="); got.out != "A=x\ny\x00B=\x00" {
		t.Errorf("env -0 prints %+v", got)
	}
	log := func(opts *corev1.PodLogOptions) string {
		data, err := c.client.CoreV1().Pods("default").GetLogs("web", opts).DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	begin := "minikcm: started its program of image nginx, whose output is unknown\n"
	if got := log(&corev1.PodLogOptions{}); got != begin+"one\ntwo\nthree\n" {
		t.Errorf("the log is %q", got)
	}
	if got := log(&corev1.PodLogOptions{Stream: ptr.To(corev1.LogStreamStderr)}); got != begin+"three\n" {
		t.Errorf("the standard error is %q", got)
	}
	if got := c.exec(dial, "known", "", nil, "sh", "-c", "echo x > /proc/1/fd/1"); got.code == 0 {
		t.Errorf("the output of a known command can be written: %+v", got)
	}
	// After a restart, the text is in the log of the previous run.
	c.exec(dial, "web", "", nil, "kill", "-INT", "1")
	c.Eventually("the container to be restarted", func(ctx context.Context, client kubernetes.Interface) error {
		pod, err := client.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && (pod.Status.ContainerStatuses[0].RestartCount == 0 || pod.Status.ContainerStatuses[0].State.Running == nil) {
			err = errors.New("it is not")
		}
		return err
	})
	if got := log(&corev1.PodLogOptions{}); got != begin {
		t.Errorf("the log of the new run is %q", got)
	}
	if got := log(&corev1.PodLogOptions{Previous: true}); got != begin+"one\ntwo\nthree\n" {
		t.Errorf("the log of the previous run is %q", got)
	}
}

// Programs in containers listen: as a container's command, in scripts, and for clients of HTTP.
func TestProgramsListen(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	server := func(name string, command ...string) {
		c.run(podNamed(name, func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Image, pod.Spec.Containers[0].Command = "busybox", command
			pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080}}
		}))
	}
	server("echo", "nc", "-lk", "-p", "8080", "-e", "tr", "a-z", "A-Z")
	server("web", "sh", "-c", "mkdir /www; hostname >/www/index.html; httpd -f -p 8080 -h /www")
	server("raw", "sh", "-c", "while true; do echo hello | nc -l -p 8080; done")
	server("client", "sleep", "infinity")
	address := func(name string) string {
		pod, err := c.client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pod.Status.PodIP
	}
	for _, tt := range []struct{ script, want string }{
		{"echo abc | nc " + address("echo") + " 8080", "ABC\n"},
		{"echo again | nc " + address("echo") + " 8080", "AGAIN\n"},
		{"nc -z " + address("echo") + " 8081 || echo closed", "closed\n"},
		{"wget -qO- http://" + address("web") + ":8080/", "web\n"},
		{"curl -s -o /dev/null -w '%{http_code}' http://" + address("web") + ":8080/none", "404"},
		{"nc " + address("raw") + " 8080 </dev/null", "hello\n"},
		{"curl -sS --http0.9 http://" + address("raw") + ":8080/ 2>&1", "hello\n"},
		{"curl -sS http://" + address("raw") + ":8080/ 2>&1", "curl: (1) Received HTTP/0.9 when not allowed\n"},
	} {
		c.Eventually("the output of "+tt.script, func(context.Context, kubernetes.Interface) error { // the program begins after its container
			if r := c.exec(dialers()[0], "client", "main", nil, "sh", "-c", tt.script); r.out != tt.want || r.failure != nil {
				return fmt.Errorf("it is %+v, want %q", r, tt.want)
			}
			return nil
		})
	}
	// A shell that waits for a program's answer keeps no other script from computing, and its death frees all.
	c.run(podNamed("bash", func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "example.com/app" }))
	server("silent", "sh", "-c", "sleep infinity | nc -lk -p 8080")
	for _, tt := range []struct{ script, want string }{
		{"exec 3<>/dev/tcp/" + address("echo") + "/8080; echo yo >&3; head -1 <&3", "YO\n"},
		{"exec 3<>/dev/tcp/" + address("silent") + "/8080 && echo yo >&3; timeout 1 cat <&3; echo $?", "124\n"},
	} {
		c.Eventually("the output of "+tt.script, func(context.Context, kubernetes.Interface) error {
			if r := c.exec(dialers()[0], "bash", "main", nil, "bash", "-c", tt.script); r.out != tt.want {
				return fmt.Errorf("it is %+v, want %q", r, tt.want)
			}
			return nil
		})
	}
	data, err := c.client.CoreV1().Pods("default").ProxyGet("http", "web", "8080", "/", nil).DoRaw(t.Context())
	if string(data) != "web\n" {
		t.Errorf("the proxy subresource answers %q, %v", data, err)
	}
}
