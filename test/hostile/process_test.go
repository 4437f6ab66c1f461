package hostile

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// process is a running "minikcm up".
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	admin  *rest.Config
	client kubernetes.Interface // of the administrator
	log    *processLog
}

// processLog passes the log of a process on and remembers whether it reports a panic.
type processLog struct {
	mu    sync.Mutex
	panic string // the first line that reports one
}

func (l *processLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := bytes.Index(p, []byte("panic")); i >= 0 && l.panic == "" {
		l.panic = string(p[max(0, i-200):min(len(p), i+4000)])
	}
	return os.Stderr.Write(p)
}

// startProcess starts minikcm with a memory limit, and stops it when the test ends.
func startProcess(ctx context.Context, t *testing.T, binary, memory string) *process {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	cmd := exec.Command(binary, "up", "--nodes", "20", "--memory-limit", memory, "--kubeconfig", kubeconfig)
	log := &processLog{}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "export KUBECONFIG=") {
		t.Fatalf("minikcm up printed %q: %v", line, err)
	}
	p := &process{t: t, cmd: cmd, log: log}
	t.Cleanup(p.stop)
	if p.admin, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
		t.Fatal(err)
	}
	p.admin.QPS = -1
	p.client = kubernetes.NewForConfigOrDie(p.admin)
	return p
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("minikcm up ended with %v", err)
	}
	if p.log.panic != "" {
		p.t.Errorf("the process reported a panic: %s", p.log.panic)
	}
}

// attacker returns the configuration of a client with the token of a pod, which may do
// everything as no member of system:masters.
func (p *process) attacker(ctx context.Context) *rest.Config {
	p.t.Helper()
	if _, err := p.client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "attacker"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "default"}},
	}, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	token, err := p.client.CoreV1().ServiceAccounts("default").CreateToken(ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(p.admin)
	config.BearerToken, config.QPS = token.Status.Token, -1
	return config
}

// peak returns the most memory that the process has had resident, in bytes; 0 where the
// system does not say it.
func (p *process) peak() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	line, _, _ := strings.Cut(rest, " kB")
	n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
