package clients

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// patience bounds every wait of a test.
const patience = 3 * time.Minute

// tools is the directory of the binaries that the tests build.
var tools string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "minikcm-clients-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	tools = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// built returns the path of a binary, which is built for the first test that needs it unless
// an environment variable contains a path.
// test means the binary of the package's tests.
type built struct {
	variable, dir, pkg string
	test               bool
}

var (
	minikcmBinary  = built{variable: "MINIKCM", dir: "../..", pkg: "./cmd/minikcm"}
	helmBinary     = built{variable: "HELM", dir: ".", pkg: "helm.sh/helm/v4/cmd/helm"}
	kubectlBinary  = built{variable: "KUBECTL", dir: ".", pkg: "./kubectl"}
	operatorBinary = built{variable: "OPERATOR", dir: ".", pkg: "./operator"}

	websiteSuite           = built{variable: "WEBSITE_SUITE", dir: ".", pkg: "./website", test: true}
	databaseOperatorBinary = built{variable: "DATABASE_OPERATOR", dir: ".", pkg: "./databaseoperator"}
)

// binaries has a function for each binary, which builds the binary once.
var binaries sync.Map

func (b built) path(t testing.TB) string {
	t.Helper()
	once, _ := binaries.LoadOrStore(b, sync.OnceValues(func() (string, error) {
		if path := os.Getenv(b.variable); path != "" {
			return path, nil
		}
		path := filepath.Join(tools, strings.ToLower(b.variable))
		args := []string{"build", "-o", path, b.pkg}
		if b.test {
			args = []string{"test", "-c", "-o", path, b.pkg}
		}
		cmd := exec.Command("go", args...)
		cmd.Dir = b.dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", b.pkg, err, out)
		}
		return path, nil
	}))
	path, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// cluster is a minikcm process and its kubeconfig.
type cluster struct {
	t          testing.TB
	kubeconfig string
}

// startCluster runs minikcm until the test ends.
func startCluster(t testing.TB, args ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	cmd := exec.Command(minikcmBinary.path(t), append([]string{"up", "--kubeconfig", c.kubeconfig, "--seed", "1"}, args...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("minikcm: %v\n%s", err, stderr.Bytes())
		}
	})
	// It prints the kubeconfig once it serves requests.
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("minikcm did not start: %v %q", err, line)
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return c
}

func (c *cluster) config() *rest.Config {
	c.t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		c.t.Fatal(err)
	}
	return cfg
}

// result is the output and the exit code of a command.
type result struct {
	out, err string
	code     int
}

// run runs a command with the cluster as its KUBECONFIG.
func (c *cluster) run(stdin, name string, args ...string) result {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "HOME="+filepath.Dir(c.kubeconfig), "TZ=UTC", "LC_ALL=C")
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		c.t.Fatalf("%s %q: %v", name, args, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// must is run for commands that must succeed.
func (c *cluster) must(stdin, name string, args ...string) string {
	c.t.Helper()
	r := c.run(stdin, name, args...)
	if r.code != 0 {
		c.t.Fatalf("%s %q: exit code %d\n%s%s", filepath.Base(name), args, r.code, r.out, r.err)
	}
	return r.out
}

func (c *cluster) kubectl(args ...string) string {
	c.t.Helper()
	return c.must("", kubectlBinary.path(c.t), args...)
}
