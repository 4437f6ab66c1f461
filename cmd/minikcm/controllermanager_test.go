package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// managerProcess is a controller-manager process whose stderr is read line by line.
type managerProcess struct {
	*exec.Cmd
	t     *testing.T
	lines chan string
}

func launchManager(t *testing.T, kubeconfig string, args ...string) *managerProcess {
	t.Helper()
	args = append([]string{
		"controller-manager", "--kubeconfig", kubeconfig, "--bind-address=127.0.0.1", "--secure-port=0",
		"--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=200ms",
	}, args...)
	p := &managerProcess{t: t, Cmd: exec.CommandContext(t.Context(), self(t), args...), lines: make(chan string, 100)}
	p.Env = append(os.Environ(), asCommand+"=run", "HOME="+t.TempDir(), "KUBECONFIG=")
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	return p
}

// says waits until the process prints a line that contains text, and returns that line.
func (p *managerProcess) says(text string) string {
	p.t.Helper()
	var before []string
	for line := range p.lines {
		if strings.Contains(line, text) {
			return line
		}
		before = append(before, line)
	}
	p.t.Fatalf("%v ended without printing %q; it printed\n%s", p.Args, text, strings.Join(before, "\n"))
	return ""
}

// stop ends the process and waits for it.
func (p *managerProcess) stop(with os.Signal) error {
	p.t.Helper()
	if err := p.Process.Signal(with); err != nil {
		p.t.Fatal(err)
	}
	for range p.lines {
	}
	return p.Wait()
}

// untilDeployment waits until the condition is true for the Deployment web.
func untilDeployment(t *testing.T, client kubernetes.Interface, what string, fits func(d *appsv1.Deployment) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	w, err := client.AppsV1().Deployments("default").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=web"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var last *appsv1.Deployment
	for ev := range w.ResultChan() {
		d, ok := ev.Object.(*appsv1.Deployment)
		if !ok || ev.Type == watch.Deleted {
			t.Fatalf("while waiting for %s: %v", what, ev)
		}
		if last = d; fits(d) {
			return
		}
	}
	t.Fatalf("timed out waiting for %s: %+v", what, last)
}

func complete(d *appsv1.Deployment) bool {
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == *d.Spec.Replicas && s.Replicas == *d.Spec.Replicas && s.AvailableReplicas == *d.Spec.Replicas
}

// recorded counts the writes in the cluster's write record, by verb and resource.
func recorded(t *testing.T, client kubernetes.Interface) map[string]int {
	t.Helper()
	data, err := client.Discovery().RESTClient().Get().AbsPath("/minikcm/v1/writes").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var writes []struct {
		Verb        string
		Resource    struct{ Resource string }
		Subresource string
		Namespace   string
		Name        string
	}
	if err := json.Unmarshal(data, &writes); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, w := range writes {
		if w.Namespace == "default" && w.Subresource == "" {
			counts[w.Verb+" "+w.Resource.Resource]++
		}
	}
	return counts
}

// TestTheLeaderDiesInARollout kills the leader during a rollout. The other manager completes
// the rollout and repeats no write.
func TestTheLeaderDiesInARollout(t *testing.T) {
	t.Parallel()
	up, kubeconfig := launchUp(t, t.TempDir(), "--nodes", "3", "--controllers=-*")
	client := clientOf(t, kubeconfig)
	first := launchManager(t, kubeconfig)
	first.says("Running ")
	second := launchManager(t, kubeconfig)
	second.says("leads; waiting.")

	replicas := int32(10)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, MinReadySeconds: 1, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1"}}},
			},
		},
	}
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	untilDeployment(t, client, "ten pods", complete)
	patch := `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"nginx:2"}]}}}}`
	if _, err := client.AppsV1().Deployments("default").Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	untilDeployment(t, client, "the rollout to be half way", func(d *appsv1.Deployment) bool {
		if complete(d) && d.Generation > 1 {
			t.Fatal("the rollout was over before the leader could die")
		}
		return d.Generation > 1 && d.Status.UpdatedReplicas > 0
	})
	_ = first.stop(syscall.SIGKILL)
	second.says("Running ")
	untilDeployment(t, client, "the rollout to be complete", complete)

	counts := recorded(t, client)
	for what, want := range map[string]int{"create replicasets": 2, "create pods": 20} {
		if counts[what] != want {
			t.Errorf("%d times %s, want %d: %v", counts[what], what, want, counts)
		}
	}
	got, err := client.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || got.Annotations["deployment.kubernetes.io/revision"] != "2" {
		t.Errorf("revision %q, %v", got.Annotations["deployment.kubernetes.io/revision"], err)
	}
	if err := second.stop(syscall.SIGTERM); err != nil {
		t.Errorf("after SIGTERM the second manager ends with %v", err)
	}
	lease, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "kube-controller-manager", metav1.GetOptions{})
	if err != nil || *lease.Spec.HolderIdentity != "" || *lease.Spec.LeaseTransitions != 1 {
		t.Errorf("the lease was not given up: %+v, %v", lease.Spec, err)
	}
	up.stop()
}
