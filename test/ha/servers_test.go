//go:build unix

package ha

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"minikcm.dev/minikcm/clock"
)

// server is a minikcm process, and its links to the members of etcd.
type server struct {
	*process
	links      []*proxy
	kubeconfig string
	client     kubernetes.Interface
}

const requestTimeout = 10 * time.Second

// newServers starts n minikcm processes on etcd, and returns when they are ready.
func newServers(t *testing.T, binary string, n int, etcd []string) []*server {
	t.Helper()
	dir := t.TempDir()
	var servers []*server
	for i, address := range freeAddresses(t, n) {
		s := &server{}
		var urls []string
		for _, member := range etcd {
			link := newProxy(t, member)
			s.links = append(s.links, link)
			urls = append(urls, "http://"+link.address())
		}
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		s.kubeconfig = filepath.Join(dir, fmt.Sprintf("kubeconfig-%d", i))
		s.process = &process{t: t, name: fmt.Sprintf("minikcm-%d", i), command: func() *exec.Cmd {
			return exec.Command(binary, "up", "--nodes", "6", "--port", port, "--kubeconfig", s.kubeconfig, "--etcd-servers", strings.Join(urls, ","))
		}}
		t.Cleanup(s.kill)
		s.start()
		servers = append(servers, s)
		s.connect(t)
	}
	return servers
}

// connect waits until the process serves, and connects the client.
func (s *server) connect(t *testing.T) {
	t.Helper()
	eventually(t, s.name+" to start", func(ctx context.Context) error {
		s.alive()
		config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
		if err != nil {
			return err
		}
		config.QPS, config.Timeout = -1, 0
		if s.client, err = kubernetes.NewForConfig(config); err != nil {
			return err
		}
		return s.ready(ctx)
	})
}

// ready returns an error unless the process serves consistent reads.
func (s *server) ready(ctx context.Context) error {
	_, err := s.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
	if err == nil {
		_, err = s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	}
	return err
}

// cut separates the process from all members of etcd.
func (s *server) cut(is bool) {
	for _, link := range s.links {
		link.cut(is)
	}
}

// patience bounds each wait for a condition.
const patience = 90 * time.Second

// eventually tries until check returns nil.
func eventually(t *testing.T, what string, check func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := func() error {
			attempt, end := context.WithTimeout(ctx, requestTimeout)
			defer end()
			return check(attempt)
		}()
		if err == nil {
			return
		}
		if !pause(ctx, 200*time.Millisecond) {
			t.Fatalf("waiting for %s: %v", what, err)
		}
	}
}

// pause waits for d; false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-clock.Real().After(d):
		return true
	}
}

// container is a container of a pod, which is started once.
type container struct {
	uid      string
	name     string
	restarts int32
}

// pods remembers what was seen of pods.
type pods struct {
	ids       map[container]string
	seen      map[string]bool
	addresses int // the most that were in use at once
}

func newPods() *pods { return &pods{ids: map[container]string{}, seen: map[string]bool{}} }

// check compares a list of pods with what was seen before.
func (p *pods) check(t *testing.T, list []corev1.Pod) {
	t.Helper()
	holder := map[string]string{}
	for i := range list {
		pod := &list[i]
		p.seen[string(pod.UID)] = true
		if ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed; ended || pod.Spec.HostNetwork {
			continue
		}
		if ip := pod.Status.PodIP; ip != "" {
			if other := holder[ip]; other != "" {
				t.Errorf("pods %s and %s both have the address %s", other, pod.Name, ip)
			}
			holder[ip] = pod.Name
		}
		for _, status := range pod.Status.ContainerStatuses {
			key := container{string(pod.UID), status.Name, status.RestartCount}
			if before := p.ids[key]; before != "" && status.ContainerID != "" && before != status.ContainerID {
				t.Errorf("container %s of pod %s was started twice: %s, then %s", status.Name, pod.Name, before, status.ContainerID)
			}
			if status.ContainerID != "" {
				p.ids[key] = status.ContainerID
			}
		}
	}
	p.addresses = max(p.addresses, len(holder))
}
