package minikcmtest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

// speaking returns a pod whose container runs a script.
func speaking(name, script string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox", Command: []string{"sh", "-c", script}}}},
	}
}

// Containers write their logs in virtual time, and following a log does not delay it.
func TestLogsInVirtualTime(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	pods := c.Client().CoreV1().Pods("default")
	pod := speaking("clock", "while true; do date +%T; sleep 60; done")
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(t.Context(), 30*time.Second); err != nil {
		t.Fatal(err)
	}
	stream, err := pods.GetLogs("clock", &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close() // read only
	read := bufio.NewScanner(stream)
	if !read.Scan() {
		t.Fatalf("no line: %v", read.Err())
	}
	began := read.Text()
	if err := c.Advance(t.Context(), 3*time.Hour); err != nil {
		t.Fatal(err)
	}
	for range 180 {
		if !read.Scan() {
			t.Fatalf("no more lines: %v", read.Err())
		}
	}
	last, err := pods.GetLogs("clock", &corev1.PodLogOptions{TailLines: ptr.To[int64](1)}).DoRaw(t.Context())
	if err != nil || string(last) != read.Text()+"\n" || began >= read.Text() {
		t.Errorf("began at %s, followed to %s, the last line is %q: %v", began, read.Text(), last, err)
	}
	if err := c.Kubelets().CrashContainer(types.NamespacedName{Namespace: "default", Name: "clock"}, "", 1); err != nil {
		t.Fatal(err)
	}
	for read.Scan() {
	}
	if read.Err() != nil {
		t.Errorf("a log that has ended: %v", read.Err())
	}
}

// A followed log does not delay the end of the cluster.
func TestLogFollowedToTheEndOfTheCluster(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t)
	pods := c.Client().CoreV1().Pods("default")
	if _, err := pods.Create(t.Context(), speaking("web", "echo up; sleep infinity"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	running(t, c, "web")
	stream, err := pods.GetLogs("web", &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(stream); string(got) != "up\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func running(t *testing.T, c *minikcmtest.Cluster, name string) {
	t.Helper()
	c.Eventually(name+" runs", func(ctx context.Context, client kubernetes.Interface) error {
		pod, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return err
	})
}

// readLog reads a log as kubectl does: as a stream, whose errors are Statuses.
func readLog(ctx context.Context, pods corev1client.PodInterface, name string, opts *corev1.PodLogOptions) ([]byte, error) {
	stream, err := pods.GetLogs(name, opts).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close() // read only
	return io.ReadAll(stream)
}

func TestLogErrors(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t)
	pods := c.Client().CoreV1().Pods("default")
	two := speaking("two", "echo one")
	two.Spec.RestartPolicy = corev1.RestartPolicyNever
	two.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "x", Command: []string{"echo", "init"}}}
	two.Spec.Containers = append(two.Spec.Containers, corev1.Container{Name: "other", Image: "y"})
	gated := speaking("gated", "true")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
	lacking := speaking("lacking", "true")
	lacking.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "none"}}}}
	for _, pod := range []*corev1.Pod{two, gated, lacking} {
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	running(t, c, "two")
	c.Eventually("lacking is known to its kubelet", func(ctx context.Context, client kubernetes.Interface) error {
		pod, err := client.CoreV1().Pods("default").Get(ctx, "lacking", metav1.GetOptions{})
		if err == nil && len(pod.Status.ContainerStatuses) == 0 {
			err = errors.New("not yet")
		}
		return err
	})
	for _, tt := range []struct {
		pod  string
		opts corev1.PodLogOptions
		want string
		is   func(error) bool
	}{
		{"two", corev1.PodLogOptions{Container: "main"}, "one\n", nil},
		{"two", corev1.PodLogOptions{Container: "first"}, "init\n", nil},
		{"two", corev1.PodLogOptions{Container: "other"}, "minikcm: started its program of image y, whose output is unknown\n", nil},
		{"gated", corev1.PodLogOptions{}, "", nil},
		{"two", corev1.PodLogOptions{}, "a container name must be specified for pod two, choose one of: [first main other]", apierrors.IsBadRequest},
		{"two", corev1.PodLogOptions{Container: "x"}, "container x is not valid for pod two", apierrors.IsBadRequest},
		{"two", corev1.PodLogOptions{Container: "main", Previous: true}, `previous terminated container "main" in pod "two" not found`, apierrors.IsBadRequest},
		{"lacking", corev1.PodLogOptions{}, `container "main" in pod "lacking" is waiting to start: ContainerCreating`, apierrors.IsBadRequest},
		{"none", corev1.PodLogOptions{}, `pods "none" not found`, apierrors.IsNotFound},
		{"two", corev1.PodLogOptions{TailLines: ptr.To[int64](-1)}, "tailLines: Invalid value: -1: must be greater than or equal to 0", apierrors.IsInvalid},
		{"two", corev1.PodLogOptions{LimitBytes: ptr.To[int64](0)}, "limitBytes: Invalid value: 0: must be greater than 0", apierrors.IsInvalid},
		{"two", corev1.PodLogOptions{SinceSeconds: ptr.To[int64](1), SinceTime: &metav1.Time{Time: c.Clock().Now()}}, "at most one of", apierrors.IsInvalid},
	} {
		got, err := readLog(t.Context(), pods, tt.pod, &tt.opts)
		if tt.is == nil {
			if err != nil || string(got) != tt.want {
				t.Errorf("%s %+v: %q, %v", tt.pod, tt.opts, got, err)
			}
		} else if !tt.is(err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want %s", tt.pod, err, tt.want)
		}
	}
}
