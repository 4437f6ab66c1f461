package minikcmtest_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

// exampleTimeout bounds the build and the run of one of client-go's examples.
const exampleTimeout = 5 * time.Minute

// example is one of client-go's example programs, built from the module unchanged, with the
// kubeconfig of a cluster.
type example struct {
	t      *testing.T
	ctx    context.Context
	binary string
	config string
}

func newExample(t *testing.T, c *minikcmtest.Cluster, name string) *example {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), exampleTimeout)
	t.Cleanup(cancel)
	dir := t.TempDir()
	e := &example{t: t, ctx: ctx, binary: filepath.Join(dir, name), config: filepath.Join(dir, "kubeconfig")}
	build := exec.CommandContext(ctx, "go", "build", "-o", e.binary, "k8s.io/client-go/examples/"+name)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	if err := os.WriteFile(e.config, c.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	return e
}

// transcript is the output of a program so far.
type transcript struct {
	mu      sync.Mutex
	changed sync.Cond
	lines   []string
	ended   bool
}

// waitFor returns when the program has printed line. It fails the test if the program ends
// first.
func (tr *transcript) waitFor(t *testing.T, line string) {
	t.Helper()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for {
		for _, l := range tr.lines {
			if l == line {
				return
			}
		}
		if tr.ended {
			t.Fatalf("the program has ended without printing %q:\n%s", line, strings.Join(tr.lines, "\n"))
		}
		tr.changed.Wait()
	}
}

func (tr *transcript) read(r io.Reader) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		tr.mu.Lock()
		tr.lines = append(tr.lines, lines.Text())
		tr.changed.Broadcast()
		tr.mu.Unlock()
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.ended = true
	tr.changed.Broadcast()
}

// start runs the example until the test ends.
func (e *example) start(args ...string) *transcript {
	e.t.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	cmd := exec.CommandContext(ctx, e.binary, append([]string{"-kubeconfig", e.config}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		e.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	tr := &transcript{}
	tr.changed.L = &tr.mu
	var reading sync.WaitGroup
	reading.Go(func() { tr.read(out) })
	e.t.Cleanup(func() {
		cancel()
		reading.Wait()
		if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) && !errors.Is(err, context.Canceled) {
			e.t.Errorf("running the example: %v", err)
		}
	})
	return tr
}

// client-go's example of a pod informer with a work queue runs unchanged against a cluster
// and receives a pod's creation and deletion.
func TestClientGoWorkqueueExample(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithHTTPS())
	out := newExample(t, c, "workqueue").start()
	out.waitFor(t, "Pod default/mypod does not exist anymore")
	pods := c.Client().CoreV1().Pods(metav1.NamespaceDefault)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
	}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	out.waitFor(t, "Sync/Add/Update for Pod web")
	if err := pods.Delete(t.Context(), "web", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
		t.Fatal(err)
	}
	out.waitFor(t, "Pod default/web does not exist anymore")
}

// client-go's examples that create, update, list and delete a Deployment succeed, with typed
// and with dynamic clients.
func TestClientGoDeploymentExamples(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithHTTPS())
	for _, name := range []string{"create-update-delete-deployment", "dynamic-create-update-delete-deployment"} {
		e := newExample(t, c, name)
		cmd := exec.CommandContext(e.ctx, e.binary, "-kubeconfig", e.config)
		cmd.Stdin = bytes.NewReader(bytes.Repeat([]byte{'\n'}, 10)) // it waits for the return key
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		if !strings.Contains(string(out), "Deleted deployment") {
			t.Errorf("%s has not come to its end:\n%s", name, out)
		}
		c.Eventually("the deployment and its pods to be gone", func(ctx context.Context, client kubernetes.Interface) error {
			_, err := client.AppsV1().Deployments(metav1.NamespaceDefault).Get(ctx, "demo-deployment", metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return errors.Join(err, errors.New("there is a deployment"))
			}
			pods, err := client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
			if err == nil && len(pods.Items) > 0 {
				return errors.New("there are pods")
			}
			return err
		})
	}
}
