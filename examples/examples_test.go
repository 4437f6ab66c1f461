package examples

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"minikcm.dev/minikcm/client"
)

// timeout bounds each wait, in the machine's time.
const timeout = 2 * time.Minute

var programs string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

// testMain builds minikcm, unless MINIKCM names it, and the examples. Reading MINIKCM_BUILDID
// keeps the go command from reusing the result that the tests had with another build of it.
func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "minikcm-examples-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	programs = dir
	build := [][]string{{"go", "build", "-ldflags=-s -w", "-o", dir + string(filepath.Separator), "./..."}}
	_ = os.Getenv("MINIKCM_BUILDID")
	if os.Getenv("MINIKCM") == "" {
		minikcm := filepath.Join(dir, "minikcm")
		build = append(build, []string{"go", "-C", "..", "build", "-ldflags=-s -w", "-o", minikcm, "./cmd/minikcm"})
		os.Setenv("MINIKCM", minikcm)
	}
	for _, command := range build {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n%s", strings.Join(command, " "), err, out)
			return 1
		}
	}
	return m.Run()
}

// cluster is a cluster with a Deployment web of two pods.
type cluster struct {
	*client.TestCluster
	t      *testing.T
	client kubernetes.Interface
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	mk := client.Start(t, client.RealClock())
	config, err := clientcmd.BuildConfigFromFlags("", mk.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{TestCluster: mk, t: t, client: kubernetes.NewForConfigOrDie(config)}
	c.kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2")
	c.kubectl("rollout", "status", "deployment/web")
	return c
}

func (c *cluster) kubectl(args ...string) {
	c.t.Helper()
	c.command(os.Getenv("MINIKCM"), append([]string{"kubectl", "--kubeconfig", c.Kubeconfig}, args...)...)
}

func (c *cluster) command(program string, args ...string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Each client prints what its page shows.
func TestClients(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, test := range []struct{ program, want string }{
		{"restclient", `^GET /api/v1/namespaces/default/pods\?limit=500\nweb-\S+ Running\nweb-\S+ Running\n$`},
		{"clientset", `^web now wants 3 replicas\n$`},
		{"dynamicclient", `^Deployment web has 3 replicas and example.com/seen=true\n$`},
		{"discoveryclient", `(?s)^server v1\.\S+\n.*\ndeployments \(Deployment\): .*\bwatch\b.*\ndeployments/scale \(Scale\): get patch update\n`},
		{"watchstream", `(?s)^HTTP/1.1 200 OK Transfer-Encoding: \[chunked\]\n0\.\ds \d+ bytes \{"type":"ADDED","object":\{"kind":"Pod",.*\.\.\.\n$`},
	} {
		if out := c.command(filepath.Join(programs, test.program)); !regexp.MustCompile(test.want).MatchString(out) {
			t.Errorf("%s prints\n%swant %s", test.program, out, test.want)
		}
	}
}

// process is an example that runs until the test ends.
type process struct {
	t     *testing.T
	lines chan string
	seen  bytes.Buffer
}

func (c *cluster) start(program string) *process {
	c.t.Helper()
	cmd := exec.Command(filepath.Join(programs, program))
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	p := &process{t: c.t, lines: make(chan string, 10_000)}
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	c.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		for range p.lines {
			// The pipe ends with the program.
		}
		if err := cmd.Wait(); err != nil {
			c.t.Errorf("%s, when interrupted: %v", program, err)
		}
	})
	return p
}

// wants reads lines until one matches.
func (p *process) wants(pattern string) {
	p.t.Helper()
	expression, late := regexp.MustCompile(pattern), time.After(timeout)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("it ended without %s:\n%s", pattern, &p.seen)
			}
			fmt.Fprintln(&p.seen, line)
			if expression.MatchString(line) {
				return
			}
		case <-late:
			p.t.Fatalf("it did not print %s:\n%s", pattern, &p.seen)
		}
	}
}

func TestPodInformer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	p := c.start("podinformer")
	p.wants(`^reconcile default/web-\S+ is Running on "node-0", with 2 pods there$`)
	c.kubectl("run", "alone", "--image=nginx")
	p.wants(`^delta Added$`)
	p.wants(`^reconcile default/alone is Running on "node-0", with 3 pods there$`)
	c.kubectl("delete", "pod", "alone", "--now")
	p.wants(`^delta Deleted$`)
	p.wants(`^reconcile default/alone is gone$`)
}

// The Ingress follows its Service, comes back, and goes.
func TestIngressManager(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	p := c.start("ingressmanager")
	p.wants("^watching$")
	c.kubectl("expose", "deployment", "web", "--port=80")
	c.kubectl("annotate", "service", "web", "ingress/http=true")
	p.wants("^created the Ingress of default/web$")
	c.kubectl("delete", "ingress", "web")
	p.wants("^created the Ingress of default/web$")
	c.kubectl("patch", "ingress", "web", "--type=json", `--patch=[{"op":"replace","path":"/spec/rules/0/host","value":"mine"}]`)
	p.wants("^updated the Ingress of default/web$")
	ctx, ingresses := t.Context(), c.client.NetworkingV1().Ingresses("default")
	if got, err := ingresses.Get(ctx, "web", metav1.GetOptions{}); err != nil || got.Spec.Rules[0].Host != "web.default.example.com" {
		t.Errorf("the host of the Ingress is not restored: %+v, %v", got, err)
	}
	c.kubectl("annotate", "service", "web", "ingress/http-")
	p.wants("^deleted the Ingress of default/web$")

	// An Ingress of a user is left alone, and one of the manager goes with its Service.
	mine := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
		Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}},
	}}}
	if _, err := ingresses.Create(ctx, mine, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "mine", Annotations: map[string]string{"ingress/http": "true"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if _, err := c.client.CoreV1().Services("default").Create(ctx, service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := []byte(`{"metadata":{"annotations":{"ingress/http":"true"}}}`)
	if _, err := c.client.CoreV1().Services("default").Patch(ctx, "web", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	p.wants("^created the Ingress of default/web$") // after the Service mine was looked at
	c.kubectl("delete", "service", "web")
	c.kubectl("wait", "--for=delete", "ingress/web", "--timeout=1m")
	if got, err := ingresses.Get(ctx, "mine", metav1.GetOptions{}); err != nil || got.Spec.DefaultBackend == nil {
		t.Errorf("the user's Ingress is %+v, %v", got, err)
	}
}
