package thirdparty

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"minikcm.dev/minikcm/client"
)

// patience bounds one command. It includes compiling a program for the first time.
const patience = time.Hour

// Cluster is a running minikcm in real time, with the clients of its users.
type Cluster struct {
	*client.TestCluster
	t *testing.T
}

// Start starts a cluster that ends with the test.
func Start(t *testing.T, opts ...client.Option) *Cluster {
	t.Helper()
	return &Cluster{TestCluster: client.Start(t, append([]client.Option{client.RealClock(), client.Seed(1)}, opts...)...), t: t}
}

// Kubectl runs minikcm's kubectl and returns its standard output.
func (c *Cluster) Kubectl(args ...string) string {
	c.t.Helper()
	return c.Apply("", args...)
}

// Apply is Kubectl with a standard input. Without arguments, it applies the input.
func (c *Cluster) Apply(stdin string, args ...string) string {
	c.t.Helper()
	out, err := c.try(stdin, args...)
	if err != nil {
		c.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Refused applies a manifest that the cluster has to refuse with an error that contains a text.
func (c *Cluster) Refused(manifest, want string) {
	c.t.Helper()
	if out, err := c.try(manifest); err == nil || !strings.Contains(out, want) {
		c.t.Errorf("applied: %v\n%s\nthe error should contain %q", err, out, want)
	}
}

func (c *Cluster) try(stdin string, args ...string) (string, error) {
	if len(args) == 0 {
		args = []string{"apply", "--server-side", "-f", "-"}
	}
	return run(c.t, stdin, minikcm(), append([]string{"kubectl", "--kubeconfig", c.Kubeconfig}, args...)...)
}

// Helm runs helm, which is built from the requirements of test/clients.
func (c *Cluster) Helm(args ...string) string {
	c.t.Helper()
	helm := filepath.Join(c.t.TempDir(), "helm")
	command(c.t, "go", "-C", "../..", "build", "-o", helm, "helm.sh/helm/v4/cmd/helm")
	return command(c.t, helm, append([]string{"--kubeconfig", c.Kubeconfig}, args...)...)
}

// Run runs a program beside the cluster until the test ends. Its environment has KUBECONFIG and,
// for programs that ask for it, the namespace kube-system.
func (c *Cluster) Run(program string, args ...string) {
	c.t.Helper()
	c.start(program, args...)
}

func (c *Cluster) start(program string, args ...string) *output {
	c.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "SYSTEM_NAMESPACE=kube-system", "RUNTIME_NAMESPACE=kube-system")
	out := &output{changed: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); c.t.Failed() {
			c.t.Logf("%s: %v\n%s", filepath.Base(program), err, out)
		}
	})
	return out
}

// InPlaceOf runs a command with "minikcm run-deployment" until the test ends. It finds the files of
// the Deployment's pods at their paths. When InPlaceOf returns, the pod is only ready if the command is.
func (c *Cluster) InPlaceOf(namespace, deployment string, command ...string) {
	c.t.Helper()
	out := c.start(minikcm(), append([]string{"run-deployment", deployment, "--kubeconfig", c.Kubeconfig, "-n", namespace, "--container-paths", "--"}, command...)...)
	if text := " runs in place of container "; !out.waitFor(c.t.Context(), text) {
		c.t.Fatalf("run-deployment %s did not print %q", deployment, text)
	}
}

// Build builds a program that the module in the working directory requires, and returns its path.
func Build(t *testing.T, pkg string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), filepath.Base(pkg))
	command(t, "go", "build", "-ldflags=-s -w", "-o", program, pkg)
	return program
}

// Source returns the folder with the files of a required module.
func Source(t *testing.T, module string) string {
	t.Helper()
	return strings.TrimSpace(command(t, "go", "list", "-m", "-f", "{{.Dir}}", module))
}

// Assets returns a folder for KUBEBUILDER_ASSETS in which kube-apiserver, etcd and kubectl are minikcm.
func Assets(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "assets")
	command(t, minikcm(), "envtest", "--dir", dir)
	return dir
}

// Download returns the folder with the files of MODULE@VERSION, which the module in the working
// directory does not require.
func Download(t *testing.T, module string) string {
	t.Helper()
	var downloaded struct{ Dir string }
	if err := json.Unmarshal([]byte(command(t, "go", "mod", "download", "-json", module)), &downloaded); err != nil {
		t.Fatal(err)
	}
	return downloaded.Dir
}

func minikcm() string {
	if binary := os.Getenv("MINIKCM"); binary != "" {
		return binary
	}
	return "minikcm"
}

// command runs a command that has to succeed, and returns its standard output.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := run(t, "", name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return out
}

// run runs a command and returns its standard output and, if it fails, also its standard error.
func run(t *testing.T, stdin, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String() + stderr.String(), err
	}
	return stdout.String(), nil
}

// output keeps what a program prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	// changed is closed, and replaced, when there is more.
	changed chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) String() string {
	text, _ := o.look()
	return text
}

func (o *output) look() (text string, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.changed
}

// waitFor reports whether the output has a text within a minute.
func (o *output) waitFor(ctx context.Context, wanted string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		text, changed := o.look()
		if strings.Contains(text, wanted) {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
