package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// stopTimeout is how long a cluster may take to stop before its process is killed.
const stopTimeout = 30 * time.Second

// Cluster is a cluster that a minikcm process runs. Its methods may be called from several
// goroutines.
type Cluster struct {
	// Kubeconfig is the path of the administrator's kubeconfig. It is a JSON file, which
	// every client of Kubernetes reads.
	Kubeconfig string
	// URL is the address of the API server, such as https://127.0.0.1:34841.
	URL string

	http   *http.Client
	dir    string
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *tail
	done   chan struct{} // closed when the process has ended, after exit is set
	exit   error

	closing  sync.Once
	closeErr error
}

// Run starts a cluster and returns when it is ready. ctx bounds only the start. The cluster
// ends with Close, and also when the calling process ends in any way.
func Run(ctx context.Context, opts ...Option) (*Cluster, error) {
	o := options{clock: "virtual"}
	for _, opt := range opts {
		opt(&o)
	}
	binary, err := o.find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "minikcm-")
	if err != nil {
		return nil, fmt.Errorf("creating a directory for the kubeconfig: %w", err)
	}
	c := &Cluster{Kubeconfig: filepath.Join(dir, "kubeconfig.json"), dir: dir, stderr: &tail{next: o.stderr}, done: make(chan struct{})}
	if err := c.start(ctx, binary, &o); err != nil {
		return nil, errors.Join(fmt.Errorf("starting a cluster with %s: %w", binary, err), os.RemoveAll(dir))
	}
	if c.URL, c.http, err = connect(c.Kubeconfig); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// find returns the path of the binary.
func (o *options) find() (string, error) {
	if o.binary != "" {
		return o.binary, nil
	}
	if path := os.Getenv("MINIKCM"); path != "" {
		return path, nil
	}
	path, err := exec.LookPath("minikcm")
	if err != nil {
		return "", fmt.Errorf("finding minikcm: %w; install it with \"go install minikcm.dev/minikcm/cmd/minikcm@latest\", or set MINIKCM to its path", err)
	}
	return path, nil
}

// start starts the process and waits until the cluster is ready.
func (c *Cluster) start(ctx context.Context, binary string, o *options) error {
	args := append([]string{"up", "--stop-with-stdin", "--kubeconfig", c.Kubeconfig, "--clock", o.clock}, o.args...)
	c.cmd = exec.Command(binary, args...)
	c.cmd.Stderr = c.stderr
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return err
	}
	c.stdin = stdin
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	ready := make(chan bool, 1)
	go func() {
		lines := bufio.NewReader(stdout)
		line, _ := lines.ReadString('\n')
		ready <- strings.HasPrefix(line, "export KUBECONFIG=")
		_, _ = io.Copy(io.Discard, lines)
		c.exit = c.cmd.Wait()
		close(c.done)
	}()
	select {
	case ok := <-ready:
		if ok {
			return nil
		}
		<-c.done
		return c.ended()
	case <-ctx.Done():
		_ = c.cmd.Process.Kill() // it may have ended
		<-c.done
		return errors.Join(ctx.Err(), c.ended())
	}
}

// ended returns why the process ended by itself.
func (c *Cluster) ended() error {
	if c.exit == nil {
		return fmt.Errorf("minikcm ended: %s", c.stderr)
	}
	return fmt.Errorf("minikcm ended (%w): %s", c.exit, c.stderr)
}

// Done is closed when the cluster has stopped, by Close or because it failed.
func (c *Cluster) Done() <-chan struct{} { return c.done }

// Close stops the cluster and removes its kubeconfig. It may be called more than once.
func (c *Cluster) Close() error {
	c.closing.Do(func() {
		if c.http != nil {
			c.http.CloseIdleConnections()
		}
		_ = c.stdin.Close() // the process may have ended
		timer := time.AfterFunc(stopTimeout, func() { _ = c.cmd.Process.Kill() })
		<-c.done
		timer.Stop()
		if c.exit != nil {
			c.closeErr = c.ended()
		}
		c.closeErr = errors.Join(c.closeErr, os.RemoveAll(c.dir))
	})
	return c.closeErr
}

// tailSize is how much of standard error an error contains at most, in bytes.
const tailSize = 8 << 10

// tail is a writer that keeps the end of its input.
type tail struct {
	next io.Writer

	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - tailSize; extra > 0 {
		t.kept = append([]byte(nil), t.kept[extra:]...)
	}
	if t.next != nil {
		_, _ = t.next.Write(p) // the caller's writer must not stop the cluster
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.kept))
}
