package examples

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
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
	minikcm := filepath.Join(dir, "minikcm")
	if given := os.Getenv("MINIKCM"); given != "" {
		if err := os.Symlink(given, minikcm); err != nil {
			panic(err)
		}
	} else {
		build = append(build, []string{"go", "-C", "..", "build", "-ldflags=-s -w", "-o", minikcm, "./cmd/minikcm"})
		os.Setenv("MINIKCM", minikcm)
	}
	os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
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

// types runs a line of a page in a shell, and returns its output and whether it succeeded. Ports of the
// page are replaced by those of the arguments.
func (c *cluster) types(p *page, line string, ports ...string) (out string, succeeded bool) {
	c.t.Helper()
	p.types(line)
	ctx, cancel := context.WithTimeout(c.t.Context(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-euc", strings.NewReplacer(ports...).Replace(line))
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	printed, err := cmd.CombinedOutput()
	return string(printed), err == nil
}

// must is types for a line that has to succeed.
func (c *cluster) must(p *page, line string, ports ...string) string {
	c.t.Helper()
	out, succeeded := c.types(p, line, ports...)
	if !succeeded {
		c.t.Fatalf("%s fails:\n%s", line, out)
	}
	return out
}

// runs runs a program that the page shows with "go run".
func (c *cluster) runs(p *page, program string) string {
	c.t.Helper()
	p.types("go run ./" + program)
	return c.command(filepath.Join(programs, program))
}

// Each client prints what its page shows.
func TestClients(t *testing.T) {
	t.Parallel()
	c, p := newCluster(t), openPage(t, "clients")
	p.shows("restclient", c.runs(p, "restclient"))
	p.shows("clientset", c.runs(p, "clientset"))
	out, succeeded := c.types(p, `minikcm kubectl patch deployment web --type=merge --patch='{"metadata":{"resourceVersion":"1"},"spec":{"replicas":1}}'`)
	if succeeded {
		t.Error("an outdated version is no conflict")
	}
	p.shows("a conflict", out)
	p.shows("dynamicclient", c.runs(p, "dynamicclient"))
	p.shows("discoveryclient", c.runs(p, "discoveryclient"))
}

// curl and watchstream print what their page shows.
func TestWatchStream(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	c, p := newCluster(t), openPage(t, "watch-stream")
	port := freePort(t)
	const proxy = "minikcm kubectl proxy --port=8001 &"
	p.types(proxy)
	c.starts(strings.TrimSuffix(strings.ReplaceAll(proxy, "8001", port), " &")).wants("^Starting to serve on ")
	const create = "minikcm kubectl create configmap colors --from-literal=sky=blue"
	c.must(p, create)
	const watch = "curl --silent --include --raw --no-buffer 'http://127.0.0.1:8001/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name=colors&timeoutSeconds=20'"
	p.types(watch)
	curl := c.starts(strings.ReplaceAll(watch, "8001", port))
	curl.wants(`"type":"ADDED"`)
	const patch, remove = `minikcm kubectl patch configmap colors --type=merge --patch='{"data":{"sky":"red"}}'`, "minikcm kubectl delete configmap colors"
	c.must(p, patch)
	c.must(p, remove)
	p.shows("curl", curl.rest())
	p.shows("a bookmark", c.must(p, "curl --silent --no-buffer 'http://127.0.0.1:8001/api/v1/namespaces/default/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&fieldSelector=metadata.name=colors&timeoutSeconds=1'", "8001", port))
	c.must(p, "minikcm fault apiserver compact")
	p.shows("an expired watch", c.must(p, "curl --silent --no-buffer 'http://127.0.0.1:8001/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=1&timeoutSeconds=1'", "8001", port))
	c.must(p, create)
	p.types("go run ./watchstream")
	program := c.start("watchstream")
	program.wants("ADDED colors")
	c.must(p, patch)
	c.must(p, remove)
	p.shows("watchstream", program.rest())
}

// freePort returns a port that is free now.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

// The tours run with the programs that were built here, without a presenter.
func TestTours(t *testing.T) {
	t.Parallel()
	for _, tour := range []string{"clients", "watch-stream", "pod-informer", "ingress-manager"} {
		t.Run(tour, func(t *testing.T) {
			t.Parallel()
			args := []string{"demo", tour, "--no-wait", "--examples", programs}
			if tour == "watch-stream" {
				if _, err := exec.LookPath("curl"); err != nil {
					t.Skip(err)
				}
				args = append(args, "--set", "PORT="+freePort(t))
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Getenv("MINIKCM"), args...)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "\nPASS "+tour+" ") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// process is a program that runs until the test ends.
type process struct {
	t     *testing.T
	lines chan string
	seen  bytes.Buffer
}

// start starts an example. It ends without an error when it is interrupted.
func (c *cluster) start(program string) *process {
	c.t.Helper()
	cmd := exec.Command(filepath.Join(programs, program))
	return c.startCommand(cmd, func() error {
		_ = cmd.Process.Signal(os.Interrupt)
		return nil
	})
}

// starts starts a line of a shell. It is killed at the end.
func (c *cluster) starts(line string) *process {
	c.t.Helper()
	cmd := exec.Command("sh", "-euc", "exec "+line)
	return c.startCommand(cmd, func() error {
		_ = cmd.Process.Kill()
		return errKilled
	})
}

var errKilled = errors.New("killed at the end of the test")

// startCommand starts a command, which end ends. end returns an error if the exit code does not count.
func (c *cluster) startCommand(cmd *exec.Cmd, end func() error) *process {
	c.t.Helper()
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
		killed := end()
		for range p.lines {
			// The pipe ends with the program.
		}
		if err := cmd.Wait(); err != nil && killed == nil {
			c.t.Errorf("%s, when interrupted: %v", cmd, err)
		}
	})
	return p
}

// rest returns all lines, when the program has ended by itself.
func (p *process) rest() string {
	p.t.Helper()
	late := time.After(timeout)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return p.seen.String()
			}
			fmt.Fprintln(&p.seen, line)
		case <-late:
			p.t.Fatalf("it does not end:\n%s", &p.seen)
		}
	}
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
	c, page := newCluster(t), openPage(t, "pod-informer")
	page.types("go run ./podinformer")
	p := c.start("podinformer")
	p.wants(`^reconcile default/web-\S+ is Running on "node-0", with 2 pods there$`)
	c.must(page, "minikcm kubectl run alone --image=nginx")
	p.wants(`^reconcile default/alone is Running on "node-0", with 3 pods there$`)
	c.must(page, "minikcm kubectl delete pod alone --now")
	p.wants(`^reconcile default/alone is gone$`)
	page.showsSome("podinformer", p.seen.String())
}

// The Ingress follows its Service, comes back, and goes.
func TestIngressManager(t *testing.T) {
	t.Parallel()
	c, page := newCluster(t), openPage(t, "ingress-manager")
	page.types("go run ./ingressmanager")
	p := c.start("ingressmanager")
	p.wants("^watching$")
	c.must(page, "minikcm kubectl expose deployment web --port=80")
	c.must(page, "minikcm kubectl annotate service web ingress/http=true")
	p.wants("^created the Ingress of default/web$")
	const get = "minikcm kubectl get ingress web"
	c.must(page, get)
	c.must(page, "minikcm kubectl delete ingress web")
	p.wants("^created the Ingress of default/web$")
	c.must(page, `minikcm kubectl patch ingress web --type=json --patch='[{"op":"replace","path":"/spec/rules/0/host","value":"mine"}]'`)
	p.wants("^updated the Ingress of default/web$")
	if out := c.must(page, get); !strings.Contains(out, " web.default.example.com ") {
		t.Errorf("the host of the Ingress is not restored:\n%s", out)
	}
	c.must(page, "minikcm kubectl annotate service web ingress/http-")
	p.wants("^deleted the Ingress of default/web$")
	page.shows("ingressmanager", p.seen.String())

	ctx, ingresses := t.Context(), c.client.NetworkingV1().Ingresses("default")
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
