package kubeletsim

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// log reads what a container has written so far, or the error.
func (c *cluster) log(pod, container string, change ...func(*corev1.PodLogOptions)) string {
	c.t.Helper()
	opts := &corev1.PodLogOptions{Container: container}
	for _, f := range change {
		f(opts)
	}
	write, err := c.kubelet.OpenLog(c.pod(pod), opts)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	if err := write(c.ctx, &b); err != nil {
		c.t.Errorf("reading the log of %s: %v", pod, err)
	}
	return b.String()
}

func previous(opts *corev1.PodLogOptions) { opts.Previous = true }

func tail(n int64) func(*corev1.PodLogOptions) {
	return func(opts *corev1.PodLogOptions) { opts.TailLines = &n }
}

func TestLogs(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.create(podtest.Pod("counter", "node-0", podtest.Command("sh", "-c", `i=0; while true; do echo "$i"; i=$((i+1)); sleep 1; done`)))
	c.create(podtest.Pod("ticker", "node-0", podtest.Command("sh", "-c", `while true; do printf 'tick '; sleep 1; echo; done`)))
	c.create(podtest.Pod("annotated", "node-0", podtest.Annotated("log", "a\nb", "log-every.app", "10s")))
	c.create(podtest.Pod("crash", "node-0", podtest.Command("sh", "-c", "echo up; sleep 2; echo down >&2; printf part; exit 1")))
	c.create(podtest.Pod("image", "node-0", podtest.Annotated("pull-error", "gone"), func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "gone" }))
	for _, name := range []string{"counter", "ticker", "annotated", "crash"} {
		c.until(name+" runs", func() bool { return c.pod(name).Status.Phase == corev1.PodRunning })
	}
	if got := c.log("crash", "app", previous); got != `previous terminated container "app" in pod "crash" not found` {
		t.Error(got)
	}
	c.advance(2500 * time.Millisecond)
	stdout := func(opts *corev1.PodLogOptions) { opts.Stream = ptr.To(corev1.LogStreamStdout) }
	for _, tt := range []struct{ got, want string }{
		{c.log("counter", "app"), "0\n1\n2\n"},
		{c.log("counter", "app", tail(1)), "2\n"},
		{c.log("counter", "app", tail(0)), ""},
		{c.log("counter", "app", func(o *corev1.PodLogOptions) { o.SinceSeconds = ptr.To[int64](1) }), "2\n"},
		{c.log("counter", "app", func(o *corev1.PodLogOptions) { o.LimitBytes = ptr.To[int64](3) }), "0\n1"},
		{c.log("ticker", "app"), "tick \ntick \n"},
		{c.log("annotated", "app"), "a\nb\n"},
		{c.log("crash", "app", previous), "up\ndown\npart"},
		{c.log("crash", "app", previous, stdout), "up\npart"},
		{c.log("image", "app"), `container "app" in pod "image" is waiting to start: trying and failing to pull image`},
		{c.log("image", "other"), `container "other" in pod "image" is not available`},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	stamped := c.log("counter", "app", tail(1), func(o *corev1.PodLogOptions) { o.Timestamps = true })
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSuffix(stamped, " 2\n"))
	if err != nil || c.kubelet.opts.Clock.Now().Sub(at) != 500*time.Millisecond {
		t.Errorf("%q (%v) at %v", stamped, err, c.kubelet.opts.Clock.Now())
	}
}

// lines hands on what is written, as it is written.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func TestFollow(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.create(podtest.Pod("web", "node-0", podtest.Command("sh", "-c", "echo a; sleep 5; echo b; sleep infinity")))
	c.until("the pod runs", func() bool { return c.pod("web").Status.Phase == corev1.PodRunning })
	follow := func(ctx context.Context) (lines, chan error) {
		write, err := c.kubelet.OpenLog(c.pod("web"), &corev1.PodLogOptions{Container: "app", Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		out, ended := make(lines, 10), make(chan error, 1)
		go func() { ended <- write(ctx, out) }()
		return out, ended
	}
	ctx, cancel := context.WithCancel(c.ctx)
	out, ended := follow(c.ctx)
	_, canceled := follow(ctx)
	if got := <-out; got != "a\n" {
		t.Errorf("first %q", got)
	}
	cancel()
	if err := <-canceled; !errors.Is(err, context.Canceled) {
		t.Errorf("a reader that has gone: %v", err)
	}
	c.advance(5 * time.Second)
	if got := <-out; got != "b\n" {
		t.Errorf("then %q", got)
	}
	select {
	case err := <-ended:
		t.Fatalf("ended while the container runs: %v", err)
	default:
	}
	if err := c.kubelet.CrashContainer(types.NamespacedName{Namespace: "default", Name: "web"}, "app", 1); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
