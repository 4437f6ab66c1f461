package bench

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"

	"minikcm.dev/minikcm/clock"
)

var upstreamDir = flag.String("upstream", "", "folder with etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok to compare with; make bench-upstream builds it")

// system is a running control plane with simulated nodes.
type system struct {
	config *rest.Config // for JSON, without a limit of requests
	client kubernetes.Interface
	cmds   []*exec.Cmd
	end    func(b *testing.B)
}

// usage is what the processes of a system took until they ended.
type usage struct {
	processor time.Duration
	resident  float64 // MB, the sum of the processes' largest resident memory
}

func (s *system) stop(b *testing.B) (u usage) {
	b.Helper()
	s.end(b)
	for _, cmd := range s.cmds {
		u.processor += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			u.resident += float64(r.Maxrss) / 1000
		}
	}
	return u
}

func newSystem(b *testing.B, config *rest.Config) *system {
	b.Helper()
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	return &system{config: config, client: client}
}

func startMinikcm(_ context.Context, b *testing.B, nodes int) *system {
	b.Helper()
	u := startUp(b, "--nodes", fmt.Sprint(nodes))
	config, err := clientcmd.BuildConfigFromFlags("", u.kubeconfig)
	if err != nil {
		b.Fatal(err)
	}
	s := newSystem(b, config)
	s.cmds, s.end = []*exec.Cmd{u.cmd}, u.stop
	return s
}

// upstream is the folder of a control plane of upstream's programs.
type upstream struct {
	b          *testing.B
	dir        string
	etcd       string
	host       string
	port       int
	kubeconfig string
	cmds       []*exec.Cmd
}

// startUpstream starts upstream's control plane, without limits of its clients' requests, and kwok. As minikcm's
// etcd without --data-dir, its etcd does not sync.
func startUpstream(ctx context.Context, b *testing.B, nodes int) *system {
	b.Helper()
	u := &upstream{b: b, dir: b.TempDir(), port: freePort(b)}
	u.host, u.kubeconfig = fmt.Sprintf("https://127.0.0.1:%d", u.port), filepath.Join(u.dir, "kubeconfig")
	b.Cleanup(u.kill)
	u.startEtcd()
	config := u.startAPIServer(ctx)
	u.writeKubeconfig(config)
	const unlimited = "1000000"
	u.start("kube-controller-manager", "--kubeconfig", u.kubeconfig, "--leader-elect=false", "--secure-port=0", "--service-account-private-key-file", filepath.Join(u.dir, "sa.key"),
		"--root-ca-file", u.certificate(), "--kube-api-qps", unlimited, "--kube-api-burst", unlimited)
	u.start("kube-scheduler", "--kubeconfig", u.kubeconfig, "--leader-elect=false", "--secure-port=0", "--kube-api-qps", unlimited, "--kube-api-burst", unlimited)
	u.start("kwok", "--kubeconfig", u.kubeconfig, "--manage-all-nodes", "--node-lease-duration-seconds", "40")
	s := newSystem(b, config)
	s.cmds, s.end = u.cmds, func(*testing.B) { u.kill() }
	addNodes(ctx, b, s.client, nodes)
	return s
}

// start starts a program, whose log stays in the folder.
func (u *upstream) start(program string, args ...string) {
	u.b.Helper()
	log, err := os.Create(filepath.Join(u.dir, program+".log"))
	if err != nil {
		u.b.Fatal(err)
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(filepath.Join(*upstreamDir, program), args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		u.b.Fatal(err)
	}
	u.cmds = append(u.cmds, cmd)
}

// kill ends the processes, of which nothing has to be left.
func (u *upstream) kill() {
	for _, cmd := range u.cmds {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
		}
	}
}

func (u *upstream) startEtcd() {
	u.b.Helper()
	u.etcd = fmt.Sprintf("http://127.0.0.1:%d", freePort(u.b))
	peer := fmt.Sprintf("http://127.0.0.1:%d", freePort(u.b))
	u.start("etcd", "--data-dir", filepath.Join(u.dir, "etcd"), "--unsafe-no-fsync", "--listen-client-urls", u.etcd, "--advertise-client-urls", u.etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer, "--quota-backend-bytes", fmt.Sprint(8<<30))
}

// certificate is the certificate of the API server, with that of its authority.
func (u *upstream) certificate() string { return filepath.Join(u.dir, "apiserver.crt") }

// startAPIServer returns the configuration of an administrator when the API server is ready.
func (u *upstream) startAPIServer(ctx context.Context) *rest.Config {
	u.b.Helper()
	tokens, key := filepath.Join(u.dir, "tokens.csv"), filepath.Join(u.dir, "sa.key")
	if err := os.WriteFile(tokens, []byte("bench,admin,admin,system:masters\n"), 0o600); err != nil {
		u.b.Fatal(err)
	}
	if pem, err := keyutil.MakeEllipticPrivateKeyPEM(); err != nil {
		u.b.Fatal(err)
	} else if err := keyutil.WriteKey(key, pem); err != nil {
		u.b.Fatal(err)
	}
	u.start("kube-apiserver", "--etcd-servers", u.etcd, "--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(u.port), "--cert-dir", u.dir, "--token-auth-file", tokens,
		"--authorization-mode", "Node,RBAC", "--service-cluster-ip-range", "10.96.0.0/16", "--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", key, "--service-account-signing-key-file", key)
	config := &rest.Config{Host: u.host, BearerToken: "bench", TLSClientConfig: rest.TLSClientConfig{CAFile: u.certificate()}}
	for elapsed := clock.Stopwatch(); ; {
		if client, err := kubernetes.NewForConfig(config); err == nil { // not before the certificate exists
			if _, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err == nil {
				return config
			}
		}
		if elapsed() > 2*time.Minute {
			log, err := os.ReadFile(filepath.Join(u.dir, "kube-apiserver.log"))
			u.b.Fatalf("kube-apiserver is not ready after two minutes; the end of its log (%v):\n%s", err, log[max(0, len(log)-2000):])
		}
		<-clock.Real().After(50 * time.Millisecond)
	}
}

func (u *upstream) writeKubeconfig(config *rest.Config) {
	u.b.Helper()
	const name = "upstream"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthority: config.CAFile}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	if err := clientcmd.WriteToFile(*file, u.kubeconfig); err != nil {
		u.b.Fatal(err)
	}
}

// addNodes creates nodes, and waits until kwok has made all Ready.
func addNodes(ctx context.Context, b *testing.B, client kubernetes.Interface, count int) {
	b.Helper()
	watcher, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	inParallel(b, count, func(i int) error {
		name := fmt.Sprintf("node-%d", i)
		capacity := corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("4Ti"), corev1.ResourcePods: resource.MustParse("1000"),
		}
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
			Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
		}
		_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	})
	ready := map[string]bool{}
	if count == 0 {
		watcher.Stop()
		return
	}
	until(ctx, b, watcher, func(ev watch.Event) bool {
		if node, ok := ev.Object.(*corev1.Node); ok && isReady(node) {
			ready[node.Name] = true
		}
		return len(ready) == count
	})
}

func freePort(b *testing.B) int {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close() // another process takes it
	return l.Addr().(*net.TCPAddr).Port
}
