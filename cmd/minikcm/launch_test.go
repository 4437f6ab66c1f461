package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"minikcm.dev/minikcm/clock"
)

// self is the path of the command: the test's binary, with asCommand set.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// process is a minikcm process.
type process struct {
	*exec.Cmd
	t      *testing.T
	out    *bufio.Reader
	stderr bytes.Buffer
}

// hungAfter is the age at which a process prints its goroutines and ends, before the limit of
// "go test" ends the test without them.
const hungAfter = 5 * time.Minute

// launch starts the command with the given home directory.
func launch(t *testing.T, home, mode string, args ...string) *process {
	t.Helper()
	return launchWith(t, nil, home, mode, args...)
}

// launchWith is launch with further environment variables.
func launchWith(t *testing.T, environment []string, home, mode string, args ...string) *process {
	t.Helper()
	return launchCommand(t, nil, environment, home, mode, args...)
}

// launchReading is launch with a standard input.
func launchReading(t *testing.T, in *os.File, home, mode string, args ...string) *process {
	t.Helper()
	return launchCommand(t, in, nil, home, mode, args...)
}

func launchCommand(t *testing.T, in *os.File, environment []string, home, mode string, args ...string) *process {
	t.Helper()
	p := &process{t: t, Cmd: exec.CommandContext(t.Context(), self(t), args...)}
	p.Env = append(os.Environ(), asCommand+"="+mode, "HOME="+home, "KUBECONFIG=", "NO_COLOR=1")
	p.Env = append(p.Env, environment...)
	p.Stderr = &p.stderr
	if in != nil {
		p.Stdin = in
	}
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(stdout)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	hung := clock.Real().AfterFunc(hungAfter, func() { _ = p.Process.Signal(syscall.SIGQUIT) })
	t.Cleanup(func() { hung.Stop() })
	return p
}

func (p *process) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		_ = p.Wait()
		p.t.Fatalf("%v: %v\n%s", p.Args, err, p.stderr.String())
	}
	return strings.TrimSuffix(line, "\n")
}

// end waits for the process and returns its exit code as a shell does.
func (p *process) end() (code int, rest string) {
	p.t.Helper()
	left, err := io.ReadAll(p.out)
	if err != nil {
		p.t.Error(err)
	}
	var exit exitCode
	if err := childError(p.Cmd, p.Wait()); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return int(exit), string(left)
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// stop interrupts the process and checks that it exits with 0.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if code, _ := p.end(); code != 0 {
		p.t.Errorf("it ends with %d: %s", code, p.stderr.String())
	}
}

// launchUp starts a cluster and returns the kubeconfig path that it printed.
func launchUp(t *testing.T, home string, args ...string) (*process, string) {
	t.Helper()
	p := launch(t, home, "run", append([]string{"up"}, args...)...)
	path, exported := strings.CutPrefix(p.line(), "export KUBECONFIG=")
	if !exported {
		t.Fatalf("stdout does not begin with the export line but %q", path)
	}
	return p, path
}

// clientOf returns a client without rate limits.
func clientOf(t *testing.T, kubeconfig string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func nodesIn(t *testing.T, kubeconfig string) int {
	t.Helper()
	nodes, err := clientOf(t, kubeconfig).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(nodes.Items)
}

func portOf(t *testing.T, kubeconfig string) int {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := net.SplitHostPort(strings.TrimPrefix(config.Host, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
