package containers_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/kubeletsim/internal/containers"
	"minikcm.dev/minikcm/kubeletsim/internal/images"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// testPod is a pod without a kubelet.
type testPod struct {
	files containers.Files

	mu       sync.Mutex
	shown    containers.Shown
	changed  chan struct{}
	occurred chan lifecycle.Occurrence
}

func (p *testPod) See() containers.Shown {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown
}

func (p *testPod) Occur(o lifecycle.Occurrence) { p.occurred <- o }

func (p *testPod) Files() *containers.Files { return &p.files }

// end makes the pod one that is gone.
func (p *testPod) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown.Gone = true
	close(p.changed)
}

// running returns a pod whose container runs.
func running(pod *corev1.Pod, live bool) *testPod {
	p := &testPod{changed: make(chan struct{}), occurred: make(chan lifecycle.Occurrence, 10)}
	state := lifecycle.State{Containers: []lifecycle.Container{{Name: "app", Phase: lifecycle.Running, Live: live}}}
	p.shown = containers.Shown{Pod: pod, State: state, Changed: p.changed}
	return p
}

func newRuntime(t *testing.T) (*containers.Runtime, context.Context) {
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}, Data: map[string]string{"COLOR": "blue"},
	})
	rt := containers.New(containers.Options{
		Client: client, Clock: clock.Real(), Images: &images.Profiles{}, Logger: klog.Background(),
		AsNode:       func(ctx context.Context, _ string) context.Context { return ctx },
		WatchVolumes: func(func(*corev1.PersistentVolume)) error { return nil },
	})
	ctx, cancel := context.WithCancel(t.Context())
	rt.Serve(ctx.Done())
	t.Cleanup(func() { cancel(); rt.Close() })
	return rt, ctx
}

func exec(t *testing.T, rt *containers.Runtime, p *testPod, command string) string {
	t.Helper()
	in, err := rt.Running(&nodes.Node{Name: "node-0"}, p, "app")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := in.Exec(t.Context(), []string{"sh", "-c", command}, remotecommand.StreamOptions{Stdout: &out}); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return out.String()
}

func withSettings(pod *corev1.Pod) {
	settings := corev1.LocalObjectReference{Name: "settings"}
	pod.Spec.Volumes = []corev1.Volume{{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: settings}}}}
	c := &pod.Spec.Containers[0]
	c.VolumeMounts = []corev1.VolumeMount{{Name: "settings", MountPath: "/settings"}}
	c.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: settings}}}
}

func TestExecSeesVolumesAndEnvironment(t *testing.T) {
	rt, _ := newRuntime(t)
	p := running(podtest.Pod("web", "node-0", withSettings), false)
	if got := exec(t, rt, p, "echo $COLOR $(cat /settings/COLOR) $HOSTNAME"); got != "blue blue web\n" {
		t.Errorf("the command wrote %q", got)
	}
}

// TestProcessSharesFiles runs a container's process and then a command, on the same files.
func TestProcessSharesFiles(t *testing.T) {
	rt, ctx := newRuntime(t)
	pod := podtest.Pod("web", "node-0", podtest.Command("sh", "-c", "echo from the process >/shared; exit 3"))
	p := running(pod, true)
	rt.SyncProcesses(ctx, &nodes.Node{Name: "node-0"}, p, pod, &p.shown.State)
	if got := <-p.occurred; got.Container != "app" || got.ExitCode != 3 {
		t.Errorf("the kubelet was passed %+v", got)
	}
	if got := exec(t, rt, p, "cat /shared"); got != "from the process\n" {
		t.Errorf("the command read %q", got)
	}
}

func TestExecEndsWithThePod(t *testing.T) {
	rt, _ := newRuntime(t)
	p := running(podtest.Pod("web", "node-0"), false)
	in, err := rt.Running(&nodes.Node{Name: "node-0"}, p, "app")
	if err != nil {
		t.Fatal(err)
	}
	reader := make(started)
	ended := make(chan error)
	go func() {
		ended <- in.Exec(t.Context(), []string{"sh", "-c", "echo begun; sleep 3600"}, remotecommand.StreamOptions{Stdout: reader})
	}()
	<-reader
	p.end()
	<-ended
	if _, err := rt.Running(&nodes.Node{Name: "node-0"}, p, "app"); err == nil {
		t.Error("a container of a pod that is gone runs")
	}
}

// started is closed by the first write.
type started chan struct{}

func (s started) Write(b []byte) (int, error) {
	close(s)
	return len(b), nil
}
