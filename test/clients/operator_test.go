package clients

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// operator is a running operator process.
type operator struct {
	t   *testing.T
	cmd *exec.Cmd
	log operatorLog
}

// operatorLog collects the output of an operator.
type operatorLog struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced with each write
	text    bytes.Buffer
}

// Write implements io.Writer.
func (l *operatorLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
	return l.text.Write(p)
}

// read returns the text so far, and a channel that is closed when there is more.
func (l *operatorLog) read() (string, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String(), l.changed
}

func startOperator(t *testing.T, c *cluster, args ...string) *operator {
	t.Helper()
	return startProcess(t, nil, append([]string{operatorBinary.path(t), "--kubeconfig", c.kubeconfig}, args...)...)
}

// startProcess runs an operator until the test ends. stdout is part of its log if it is nil.
func startProcess(t *testing.T, stdout io.Writer, command ...string) *operator {
	t.Helper()
	o := &operator{t: t, cmd: exec.Command(command[0], command[1:]...), log: operatorLog{changed: make(chan struct{})}}
	o.cmd.Stdout, o.cmd.Stderr = stdout, &o.log
	if stdout == nil {
		o.cmd.Stdout = &o.log
	}
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		o.stop(syscall.SIGKILL)
		if text, _ := o.log.read(); t.Failed() {
			t.Logf("operator %q:\n%s", command, text)
		}
	})
	return o
}

// wantLog waits until the operator has printed a text.
func (o *operator) wantLog(want string) {
	o.t.Helper()
	limit := time.After(patience)
	for {
		text, more := o.log.read()
		if strings.Contains(text, want) {
			return
		}
		select {
		case <-more:
		case <-limit:
			o.t.Fatalf("the operator does not print %q", want)
		}
	}
}

// stop ends the process. Further calls do nothing.
func (o *operator) stop(signal syscall.Signal) {
	if o.cmd.ProcessState == nil {
		_ = o.cmd.Process.Signal(signal)
		_ = o.cmd.Wait()
	}
}

const websiteYAML = `
apiVersion: clients.example.com/v1
kind: Website
metadata: {name: NAME}
spec: {image: nginx, replicas: 2, parent: PARENT}
`

func site(name, parent string) string {
	return strings.NewReplacer("NAME", name, "PARENT", parent).Replace(websiteYAML)
}

// TestOperator runs an operator, kills it, lets another one lead, and deletes all objects.
func TestOperator(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.kubectl("create", "-f", "testdata/crds")
	first := startOperator(t, c, "--name", "first")
	c.kubectl("wait", "lease/websites.clients.example.com", "--for=create", "--timeout=2m")
	second := startOperator(t, c, "--name", "second")
	c.must(site("home", "")+"\n---\n"+site("blog", "home"), "kubectl", "apply", "-f", "-")
	c.kubectl("wait", "ws", "--all", "--for=condition=Ready", "--timeout=2m")
	c.kubectl("wait", "ws/home", "--for=jsonpath={.status.children[0]}=blog", "--timeout=2m")
	c.wantReady("home", "2 written by first")
	if out := c.kubectl("get", "ws"); !strings.Contains(out, "home   nginx   True") {
		t.Errorf("get:\n%s", out)
	}

	// The leader is killed, and its lease expires.
	first.stop(syscall.SIGKILL)
	c.kubectl("scale", "ws/home", "--replicas=3")
	c.kubectl("wait", "ws/home", "--for=jsonpath={.status.readyReplicas}=3", "--timeout=2m")
	c.wantReady("home", "3 written by second")

	// The leader stops and releases its lease.
	third := startOperator(t, c, "--name", "third")
	second.stop(syscall.SIGTERM)
	c.kubectl("patch", "ws/blog", "--type=merge", "-p", `{"spec":{"replicas":1}}`)
	c.kubectl("wait", "ws/blog", "--for=jsonpath={.status.readyReplicas}=1", "--timeout=2m")
	c.kubectl("wait", "ws/blog", "--for=jsonpath={.status.observedGeneration}=2", "--timeout=2m")
	if out := c.kubectl("get", "events", "-o", `jsonpath={range .items[?(@.reason=="Deployed")]}{.involvedObject.kind}/{.involvedObject.name} {.source.component}{.reportingComponent}{"\n"}{end}`); !strings.Contains(out, "Website/home website-operator") {
		t.Errorf("events:\n%s", out)
	}
	owners := c.kubectl("get", "deploy", "home", "-o", `jsonpath={.metadata.managedFields[?(@.operation=="Apply")].manager} {.metadata.ownerReferences[0].kind}`)
	if owners != "website-operator Website" {
		t.Errorf("the Deployment's owners: %s", owners)
	}

	c.kubectl("delete", "ws", "--all", "--wait", "--timeout=2m")
	if by := c.kubectl("get", "cm", "was-home", "-o", "jsonpath={.data.by}"); by != "third" {
		t.Errorf("recorded by %s", by)
	}
	c.kubectl("wait", "deploy,rs,pods", "--all", "--for=delete", "--timeout=2m")
	third.stop(syscall.SIGTERM)
	if code := third.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the operator ended with %d", code)
	}
}

func (c *cluster) wantReady(name, want string) {
	c.t.Helper()
	got := c.kubectl("get", "ws", name, "-o", `jsonpath={.status.readyReplicas} {.status.conditions[?(@.type=="Ready")].message}`)
	if got != want {
		c.t.Errorf("%s: %q, want %q", name, got, want)
	}
}
