//go:build unix

package bench

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// usage is the processor time and memory that the processes of a system took until they ended.
type usage struct {
	processor time.Duration
	resident  float64 // MB, the sum of the processes' largest resident memory
}

func (s *system) stop(b *testing.B) (u usage) {
	b.Helper()
	s.end(b)
	for _, cmd := range s.cmds {
		u.add(cmd)
	}
	return u
}

// add adds what a process took that has ended.
func (u *usage) add(cmd *exec.Cmd) {
	u.processor += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.resident += float64(r.Maxrss) / 1000
	}
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

// upstream is a control plane of upstream's programs.
type upstream struct {
	*programs
	etcd       string
	host       string
	port       int
	kubeconfig string
}

// programs are processes of upstream's programs, with their files in one folder.
type programs struct {
	b    *testing.B
	dir  string
	cmds []*exec.Cmd
}

// newPrograms returns an empty set of processes. The end of the benchmark kills the processes that
// still run.
func newPrograms(b *testing.B) *programs {
	b.Helper()
	p := &programs{b: b, dir: b.TempDir()}
	b.Cleanup(p.kill)
	return p
}

// startUpstream starts upstream's control plane, without limits of its clients' requests, and kwok. As minikcm's
// etcd without --data-dir, its etcd does not sync.
func startUpstream(ctx context.Context, b *testing.B, nodes int) *system {
	b.Helper()
	u := &upstream{programs: newPrograms(b), port: freePort(b)}
	u.host, u.kubeconfig = fmt.Sprintf("https://127.0.0.1:%d", u.port), filepath.Join(u.dir, "kubeconfig")
	u.etcd = u.startEtcd(1, "--unsafe-no-fsync")[0]
	config := u.startAPIServer(ctx)
	u.writeKubeconfig(config)
	const unlimited = "1000000"
	u.start("kube-controller-manager", "--kubeconfig", u.kubeconfig, "--leader-elect=false", "--secure-port=0", "--service-account-private-key-file", filepath.Join(u.dir, "sa.key"),
		"--root-ca-file", u.certificate(), "--kube-api-qps", unlimited, "--kube-api-burst", unlimited)
	u.start("kube-scheduler", "--kubeconfig", u.kubeconfig, "--leader-elect=false", "--secure-port=0", "--kube-api-qps", unlimited, "--kube-api-burst", unlimited)
	u.start("kwok", "--kubeconfig", u.kubeconfig, "--config", filepath.Join(*upstreamDir, "kwok.yaml"), "--manage-all-nodes", "--node-lease-duration-seconds", "40")
	s := newSystem(b, config)
	s.cmds, s.end = u.cmds, func(*testing.B) { u.kill() }
	if err := addNodes(ctx, s.client, nodes); err != nil {
		b.Fatalf("%v\n%s", err, u.logs())
	}
	return s
}

// start starts a program, whose log stays in the folder.
func (p *programs) start(program string, args ...string) {
	p.b.Helper()
	log, err := os.OpenFile(filepath.Join(p.dir, program+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) // members of etcd share one
	if err != nil {
		p.b.Fatal(err)
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(filepath.Join(*upstreamDir, program), args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		p.b.Fatal(err)
	}
	p.cmds = append(p.cmds, cmd)
}

// kill ends the processes, of which nothing has to be left.
func (p *programs) kill() {
	for _, cmd := range p.cmds {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
		}
	}
}

// startEtcd starts the members of an etcd cluster, and returns the URLs for its clients.
func (p *programs) startEtcd(members int, args ...string) (urls []string) {
	p.b.Helper()
	var cluster, peers []string
	for i := range members {
		urls = append(urls, fmt.Sprintf("http://127.0.0.1:%d", freePort(p.b)))
		peers = append(peers, fmt.Sprintf("http://127.0.0.1:%d", freePort(p.b)))
		cluster = append(cluster, fmt.Sprintf("member-%d=%s", i, peers[i]))
	}
	for i, url := range urls {
		name := fmt.Sprintf("member-%d", i)
		p.start("etcd", append([]string{
			"--name", name, "--data-dir", filepath.Join(p.dir, name), "--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peers[i],
			"--initial-advertise-peer-urls", peers[i], "--initial-cluster", strings.Join(cluster, ","), "--quota-backend-bytes", fmt.Sprint(8 << 30),
		}, args...)...)
	}
	return urls
}

// certificate returns the path of the API server's certificate, with its authority's certificate.
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
	for elapsed := clock.Stopwatch(); elapsed() < startTime; {
		if client, err := kubernetes.NewForConfig(config); err == nil { // not before the certificate exists
			if _, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err == nil {
				return config
			}
		}
		<-clock.Real().After(50 * time.Millisecond)
	}
	u.b.Fatalf("kube-apiserver is not ready after %v\n%s", startTime, u.logs())
	return nil
}

// logs returns the ends of the programs' logs.
func (p *programs) logs() string {
	var out strings.Builder
	for _, cmd := range p.cmds {
		path := filepath.Join(p.dir, filepath.Base(cmd.Path)+".log")
		log, err := os.ReadFile(path)
		fmt.Fprintf(&out, "\n%s (%v):\n%s\n", path, err, log[max(0, len(log)-1000):])
	}
	return out.String()
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

// startTime bounds the time until the nodes of a system are Ready.
const startTime = 2 * time.Minute

// addNodes creates nodes, and waits until kwok has made all Ready.
func addNodes(ctx context.Context, client kubernetes.Interface, count int) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	watcher, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for i := range count {
		name := fmt.Sprintf("node-%d", i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	ready := map[string]bool{}
	for len(ready) < count {
		ev, ok := <-watcher.ResultChan()
		if !ok {
			return fmt.Errorf("%d of %d nodes are Ready: %w", len(ready), count, context.Cause(ctx))
		}
		if node, ok := ev.Object.(*corev1.Node); ok && isReady(node) {
			ready[node.Name] = true
		}
	}
	return nil
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
